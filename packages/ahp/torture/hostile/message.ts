import { eventOf } from "../../test/messages.ts";

/** The text of a blocking event; the payload tells the tortured harness what to do. */
export function ask(id: string, payload: object = {}): string {
  return JSON.stringify({
    jsonrpc: "2.0",
    id,
    method: "ahp/event",
    params: eventOf("pre_action", { payload: { nonce: id, ...payload } }),
  });
}

/** What the harness answers to {@link ask}. */
export function allowed(id: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"decision":"allow","metadata":{"nonce":${JSON.stringify(id)}}}}`;
}

/** The same as an HTTP request. */
export function post(url: string, body: string, headers: Readonly<Record<string, string>> = {}): string {
  const { host, pathname } = new URL(url);
  const all = {
    host,
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
    ...headers,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `POST ${pathname} HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
}
