// Choices that the server has to know before it draws a page.

const A_YEAR_S = 31_536_000;

/** Keeps a choice in a cookie for a year. Returns whether the browser took it. */
export function keep(name: string, value: string) {
  const secure = location.protocol === 'https:' ? '; secure' : '';
  document.cookie = `${name}=${encodeURIComponent(value)}; path=/; max-age=${A_YEAR_S}; samesite=lax${secure}`;
  return document.cookie.includes(`${name}=`);
}
