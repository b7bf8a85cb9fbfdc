import { CODE, RpcError } from "./json-rpc.ts";

/** What is answered to a prompt whose turn was cut off, or will not begin, for a reason that is not its own. */
export function interruptedBy(why: string): RpcError {
  const text = `${why} before this was answered; what was under way may or may not have happened`;
  return new RpcError(CODE.internal, text, { interrupted: true });
}
