/** Where the page about the command line is kept. */
export const CLI_REFERENCE = new URL("../../../../docs/reference/cli.md", import.meta.url);
