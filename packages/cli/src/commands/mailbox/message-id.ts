/** So many characters of a message's id tell it from others. */
export const SHOWN_ID = 12;

/** How the ids of messages look. */
export const MESSAGE_ID = { what: "message", mark: "", length: 64, list: "reins mailbox list" } as const;
