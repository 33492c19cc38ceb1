import { html } from 'htm/preact';
import { render } from 'preact';

/**
 * Shows content in a dialog of the page, because the browser's own are less accessible and block the page. Resolves when
 * it is closed, with the value of the button that did so; with '' for Esc.
 *
 * @param {string} label
 * @param {import('preact').ComponentChildren} content
 * @param {string} [kind] its class
 * @returns {Promise<string>}
 */
export function showDialog(label, content, kind) {
  const place = document.querySelector('#dialog');
  return new Promise((resolve) => {
    if (place === null) return;
    /** @param {Event} event */
    const onClose = ({ currentTarget }) => {
      resolve(currentTarget instanceof HTMLDialogElement ? currentTarget.returnValue : '');
      render(null, place);
    };
    render(
      html`<dialog class=${kind} aria-label=${label} ref=${open} onClose=${onClose}>${content}</dialog>`,
      place,
    );
  });
}

/** @param {HTMLDialogElement | null} dialog */
const open = (dialog) => dialog?.showModal();
