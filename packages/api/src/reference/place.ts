/** Where the page about the API is kept. */
export const API_REFERENCE = new URL("../../../../docs/reference/api.md", import.meta.url);
