import type { MailLimits } from "./limits.ts";
import { SharedFileError } from "./shared-file-error.ts";

/** A message to be sent. */
export interface OutgoingMessage {
  /** Who sends it, as the harness knows. */
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly body: string;
}

/** The line for a message, unless it says nothing, or too much. */
export function outgoingLine(
  { from, to, subject, body }: OutgoingMessage,
  { id, timestamp }: { readonly id: string; readonly timestamp: string },
  { maxHeaderBytes, maxBodyBytes }: MailLimits,
): string {
  if (from === "" || to === "")
    throw new SharedFileError("invalid", "a message needs a sender and somebody to go to");
  if (body.trim() === "") throw new SharedFileError("invalid", "a message needs a text");
  for (const [name, text] of Object.entries({ from, to, subject })) checkLength(name, text, maxHeaderBytes);
  checkLength("body", body, maxBodyBytes);
  return JSON.stringify({ id, from, to, subject, body, timestamp, read: false });
}

function checkLength(name: string, text: string, maxBytes: number): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxBytes) return;
  const message = `the ${name} has ${bytes} bytes, and may have ${maxBytes}; put the rest into a file and name it`;
  throw new SharedFileError("too_large", message);
}
