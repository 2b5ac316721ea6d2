export default function About() {
  return <main><h1>About</h1><p>Every page of this blog is made when it is built.</p></main>;
}
