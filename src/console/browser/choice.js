/**
 * The fields of a form that have this name.
 *
 * @param {HTMLFormElement} form
 * @param {string} name
 */
export const fieldsOf = (form, name) =>
  [...form.querySelectorAll('input')].filter((field) => field.name === name);

/**
 * The ids that are ticked in a list.
 *
 * @param {HTMLFormElement} form
 */
export const chosenIds = (form) =>
  fieldsOf(form, 'ids')
    .filter((field) => field.checked)
    .map((field) => field.value);
