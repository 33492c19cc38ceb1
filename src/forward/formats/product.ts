/** Whose events these are: every format names the maker and the product that an event comes from. */
export const VENDOR = 'Extreme Networks';
export const PRODUCT = 'ExtremeCloud IQ';

/** The cloud has no version of its own; CEF and LEEF ask for one, and this is the mapping's. */
export const MAPPING_VERSION = '1';
