/** The part of a terminal's input that keys are read from. */
export interface KeyInput {
  setRawMode(raw: boolean): unknown;
  setEncoding(encoding: "utf8"): unknown;
  on(event: "data", take: (text: string) => void): unknown;
  off(event: "data", take: (text: string) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

/**
 * Reads a terminal key by key until the returned function is called. What arrives in one piece is a key only when it is
 * a single character: what was pasted, and what keys with names of their own send, answers nothing.
 */
export function readKeys(input: KeyInput, press: (key: string) => void): () => void {
  const take = (text: string) => {
    if (text.length === 1) press(text);
  };
  input.setRawMode(true);
  input.setEncoding("utf8");
  input.on("data", take);
  input.resume();
  return () => {
    input.off("data", take);
    input.setRawMode(false);
    input.pause();
  };
}
