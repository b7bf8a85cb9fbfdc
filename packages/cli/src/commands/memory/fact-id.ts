/** So many characters of a fact's id tell it from others. */
export const SHOWN_ID = 8;

/** How the ids of facts look. */
export const FACT_ID = { what: "fact", mark: "", length: 36, list: "reins memory list" } as const;
