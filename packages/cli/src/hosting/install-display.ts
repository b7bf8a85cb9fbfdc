import type { InstallProgress } from "@reins/host";

/** Where an install is shown. */
export interface InstallScreen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const BAR = 24;
/** Without a terminal, so many parts of the way are told. */
const PARTS = 4;

/** Shows how far an install is: a bar on a terminal, a few lines elsewhere. */
export class InstallDisplay {
  readonly #screen: InstallScreen;
  readonly #name: string;
  #told = 0;
  #hasBar = false;

  constructor(screen: InstallScreen, name: string) {
    this.#screen = screen;
    this.#name = name;
  }

  /** Takes how far it is. */
  update(progress: InstallProgress): void {
    const { phase } = progress;
    if (phase === "installing") this.#packages(progress.done, progress.total);
    else if (phase === "waiting")
      this.#line(`another process (${progress.holder}) is installing ${this.#name}; waiting for it`);
    else if (phase === "verifying") this.#line(`${this.#name}: packages are there; starting it once`);
    else this.#line(`${this.#name} ${progress.version} is installed`);
  }

  /** Takes the bar away. */
  clear(): void {
    if (this.#hasBar) this.#screen.write("\r\u001b[K");
    this.#hasBar = false;
  }

  #packages(done: number, total: number): void {
    const share = total === 0 ? 0 : done / total;
    if (this.#screen.isTTY) {
      const filled = Math.round(share * BAR);
      const bar = `${"#".repeat(filled)}${"-".repeat(BAR - filled)}`;
      this.#screen.write(`\r\u001b[K${this.#name} [${bar}] ${done} of ${total} packages`);
      this.#hasBar = true;
      return;
    }
    const part = Math.floor(share * PARTS);
    if (done > 0 && part <= this.#told) return;
    this.#told = part;
    this.#line(`${this.#name}: ${done} of ${total} packages`);
  }

  #line(text: string): void {
    this.clear();
    this.#screen.write(`${text}\n`);
  }
}
