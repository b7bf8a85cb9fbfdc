/** What a refusal says, and in which media type. */
export interface RefusalText {
  readonly type: string;
  readonly body: string;
}

/** Puts a refusal into words for the wire. */
export type RefusalBody = (status: number, detail: string) => RefusalText;

/** The reason as it is, in plain text. */
export const plainRefusal: RefusalBody = (_, detail) => ({ type: "text/plain; charset=utf-8", body: detail });
