/** A message on its way. */
interface Posting {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly signal: AbortSignal;
}

/** Posts a message and gives the status of the answer. Rejects when there is none. */
export type Post = (url: string, posting: Posting) => Promise<number>;

/** Posts over HTTP. A redirect is an answer like any other: a signed message goes nowhere but where it was meant to go. */
export const postOverHttp: Post = async (url, { headers, body, signal }) => {
  const response = await fetch(url, { method: "POST", headers, body, signal, redirect: "manual" });
  await response.body?.cancel();
  return response.status;
};
