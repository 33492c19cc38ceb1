/**
 * Makes one element like another by changing as little as it can, so that what a person has focused, selected,
 * scrolled or opened stays so.
 *
 * @param {Element} from stands in the page
 * @param {Element} to is what it is to be like
 */
export function morph(from, to) {
  morphAttributes(from, to);
  const wanted = [...to.childNodes];
  for (const [index, node] of wanted.entries()) {
    const present = from.childNodes[index];
    if (present === undefined) from.append(node);
    else if (present instanceof Element && node instanceof Element && present.tagName === node.tagName) {
      morph(present, node);
    } else if (present instanceof Text && node instanceof Text) {
      if (present.data !== node.data) present.data = node.data;
    } else present.replaceWith(node);
  }
  while (from.childNodes.length > wanted.length) from.lastChild?.remove();
}

/**
 * @param {Element} from
 * @param {Element} to
 */
function morphAttributes(from, to) {
  for (const name of from.getAttributeNames()) {
    // Whether <details> is open is the person's.
    if (!to.hasAttribute(name) && name !== 'open') from.removeAttribute(name);
  }
  for (const { name, value } of to.attributes) {
    if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
}
