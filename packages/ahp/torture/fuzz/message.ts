/** One message to be sent. */
export interface FuzzMessage {
  readonly bytes: Buffer;
  /** How it was made, for the report of a failure. */
  readonly origin: string;
  /** The id under which it must be answered, when it is a sound request. */
  readonly id?: string;
}

const SHOWN = 2_000;

/** A message for people: escaped where it is not plain text, and not endless. */
export function show({ bytes, origin }: FuzzMessage): string {
  const text = JSON.stringify(bytes.toString("latin1"));
  const cut = text.length > SHOWN ? `${text.slice(0, SHOWN)}… (${bytes.length} bytes)` : text;
  return `${origin}, as Latin-1: ${cut}`;
}
