import { type Channel, CODE, type JsonObject, RpcError } from "@reins/acp";
import { MessageError, settlesWithin } from "@reins/kit";
import type { AgentProcess, KeptText, ProcessExit } from "@reins/runner";

/** How long a process whose input is closed is given to end. */
const ENDING_MS = 1_000;

/** Takes secrets out of what an agent wrote; "cut" says that the text may end in the middle of one. */
export interface TextRedactor {
  text(text: string, end?: "cut"): string;
}

/** The way to an agent's process. When it ends, whatever waits for it learns how, and what it complained of. */
export function processChannel(process: AgentProcess, redactor: TextRedactor): Channel {
  const closed = process.exited.then((exit) => endOf(process.label, exit, redactor));
  const send = (message: JsonObject) =>
    process.send(message).catch(async (error: unknown) => {
      const isGone = error instanceof MessageError && error.code === "gone";
      // A pipe breaks before it is known that the process has ended, and how says more.
      throw isGone && (await settlesWithin(closed, ENDING_MS)) ? await closed : error;
    });
  return { send, onMessage: (listener) => process.onMessage(listener), closed };
}

function endOf(
  label: string,
  { code, signal, stderr: written }: ProcessExit,
  redactor: TextRedactor,
): RpcError {
  const stderr = shownOf(written, redactor);
  const how = signal ? `was ended by ${signal}` : `ended with code ${code}`;
  const lines = (stderr.tail || stderr.head).trim().split("\n");
  // A program that dies of an error says after it where it was, and what runs it.
  const said = lines.findLast((line) => THROWN.test(line)) ?? lines.at(-1);
  const message = `${label} ${how}${said ? `: ${said}` : ""}`;
  return new RpcError(CODE.internal, message, { exit_code: code, signal, stderr });
}

const THROWN = /^\s*(?:Uncaught )?[A-Z]\w*(?:Error|Exception)\b/;

/** What is kept of an output, without its secrets. Where something was left out, either side may be half of one. */
function shownOf({ head, tail, omitted }: KeptText, redactor: TextRedactor): KeptText {
  if (omitted === 0) return { head: redactor.text(head + tail), tail: "", omitted };
  const whole = tail.slice(tail.search(/\s|$/));
  return { head: redactor.text(head, "cut"), tail: redactor.text(whole), omitted };
}
