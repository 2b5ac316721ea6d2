import Link from "next/link";

export const metadata = { title: "A generated blog" };

export default function Layout({ children }) {
  return (
    <html lang="en">
      <body>
        <nav>
          <Link href="/" prefetch={false}>Home</Link> <Link href="/about" prefetch={false}>About</Link>
        </nav>
        {children}
      </body>
    </html>
  );
}
