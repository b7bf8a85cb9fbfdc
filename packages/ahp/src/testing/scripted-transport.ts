import type { CallOptions, ClientTransport, SendRequest } from "../client/transport.ts";
import { parseJson } from "../json/parse.ts";

/** What a scripted harness does with a request: the text of its response, or an error to fail with. */
export type Script = (request: {
  id: string;
  method: string;
  params: unknown;
}) => string | Error | Promise<string>;

/** A transport that answers from a script and keeps what was sent. */
export class ScriptedTransport implements ClientTransport {
  readonly sent: string[] = [];
  readonly options: CallOptions[] = [];
  sessionToken: string | undefined;
  closed = false;
  readonly #script: Script;

  constructor(script: Script) {
    this.#script = script;
  }

  readonly request: SendRequest = async (_, text, options) => {
    this.sent.push(text);
    this.options.push(options);
    const answer = await this.#script(JSON.parse(text));
    if (answer instanceof Error) throw answer;
    return parseJson(answer);
  };

  async notify(text: string): Promise<void> {
    this.sent.push(text);
  }

  onReconnect(): void {}

  useSession(token: string): void {
    this.sessionToken = token;
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}
