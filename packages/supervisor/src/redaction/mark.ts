/** What stands where a secret was. */
export const MARK = "[redacted]";
