/** The digits of a phone number, without the zeros that lead abroad or to another town. */
export const phoneDigits = (text: string): string => text.replaceAll(/\D/g, '').replace(/^0+/, '');

/** Fewer digits are found in too many other numbers. */
export const LEAST_PHONE_DIGITS = 6;
