import type { VerifyProgress } from "@reins/host";
import { SETTINGS } from "./words.ts";

/** Where a verification is shown. */
interface VerifyScreen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Shows how far a verification is: one line on a terminal, a line for each setting elsewhere. */
export class VerifyLine {
  readonly #screen: VerifyScreen;
  readonly #name: string;
  #setting: string | undefined;

  constructor(screen: VerifyScreen, name: string) {
    this.#screen = screen;
    this.#name = name;
  }

  /** Takes how far it is. */
  update({ setting, name, answer, done, total }: VerifyProgress): void {
    const where = SETTINGS[setting];
    if (this.#screen.isTTY)
      this.#screen.write(
        `\r\u001b[Kverifying ${this.#name}: ${done} of ${total} (${where}, ${name}, ${answer})`,
      );
    else if (setting !== this.#setting) this.#screen.write(`verifying ${this.#name}: ${where}\n`);
    this.#setting = setting;
  }

  /** Takes the line away again. */
  clear(): void {
    if (this.#screen.isTTY && this.#setting !== undefined) this.#screen.write("\r\u001b[K");
  }
}
