/** A word as the title of something: `Complete`. */
export const capitalized = (word: string): string => word.replace(/^./u, (first) => first.toUpperCase());
