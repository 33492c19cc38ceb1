import { html } from 'htm/preact';
import { render, type ComponentChildren } from 'preact';

/**
 * Shows content in a dialog of the page, because the browser's own are less accessible and block the page. Resolves
 * when it is closed, with the value of the button that did so; with '' for Esc. `kind` is its class.
 */
export function showDialog(label: string, content: ComponentChildren, kind?: string): Promise<string> {
  const place = document.querySelector('#dialog');
  return new Promise((resolve) => {
    if (place === null) return;
    const onClose = ({ currentTarget }: Event) => {
      resolve(currentTarget instanceof HTMLDialogElement ? currentTarget.returnValue : '');
      render(null, place);
    };
    render(
      html`<dialog class=${kind} aria-label=${label} ref=${open} onClose=${onClose}>${content}</dialog>`,
      place,
    );
  });
}

const open = (dialog: HTMLDialogElement | null) => dialog?.showModal();
