// The blog: 220 posts, each in one of 12 categories, and 20 pages that list them. With the home page
// and the page about the blog these are 254 pages.
export const CATEGORIES = 12;
export const POSTS = 220;
export const PER_PAGE = 11;
export const PAGES = POSTS / PER_PAGE;

const WORDS = "kernel socket thread queue event loop buffer page cache signal timer memory clock".split(" ");

export const category = (n) => `category-${n % CATEGORIES}`;

export const posts = Array.from({ length: POSTS }, (_, n) => ({
  slug: `post-${n}`,
  title: `What the ${WORDS[n % WORDS.length]} does, part ${n}`,
  category: category(n),
  // The same text at every build: twelve paragraphs of eighty words.
  paragraphs: Array.from({ length: 12 }, (_, p) =>
    Array.from({ length: 80 }, (_, w) => WORDS[(n * 7 + p * 5 + w * 3 + ((n + w) % 4)) % WORDS.length]).join(" "),
  ),
}));

export const listed = (page) => posts.slice((page - 1) * PER_PAGE, page * PER_PAGE);
