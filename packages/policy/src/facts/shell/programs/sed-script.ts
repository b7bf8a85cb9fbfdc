/** Longer scripts are not looked through. */
const LENGTH_LIMIT = 10_000;

/**
 * Whether a script of sed only prints, deletes and replaces. Those that write files (`w`), read them (`r`) or run
 * commands (`e`) are not plain, and neither is what is written in an unusual way.
 */
export function isPlainSed(script: string): boolean {
  if (script === "") return true;
  if (script.length > LENGTH_LIMIT) return false;
  const scanner = new Scanner(script);
  scanner.skip(/\s*/y);
  do {
    if (!scanner.command()) return false;
    scanner.skip(/[ \t\r\f\v]*/y);
    if (scanner.isAtEnd) return true;
    if (!scanner.take(/[;\n]/y)) return false;
    scanner.skip(/\s*/y);
  } while (!scanner.isAtEnd);
  return true;
}

class Scanner {
  readonly #script: string;
  #at = 0;

  constructor(script: string) {
    this.#script = script;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#script.length;
  }

  /** Goes behind what fits here; whether it does. */
  take(sticky: RegExp): boolean {
    sticky.lastIndex = this.#at;
    if (!sticky.test(this.#script)) return false;
    this.#at = sticky.lastIndex;
    return true;
  }

  skip(sticky: RegExp): void {
    this.take(sticky);
  }

  command(): boolean {
    if (this.#address()) {
      this.skip(/\s*/y);
      if (this.take(/,\s*/y) && !this.take(/[+~]?\d+/y) && !this.#address()) return false;
      this.skip(/\s*!?\s*/y);
    }
    if (this.take(/[pdDPqQ=gGhHxnN]/y)) return true;
    if (this.take(/[aic]\\?\s?[^\n;]*/y)) return true;
    if (this.take(/y\//y)) return this.#part("/", false) && this.#part("/", false);
    if (!this.take(/s[/|#,:@!%]/y)) return false;
    const delimiter = this.#script[this.#at - 1] ?? "";
    if (!this.#part(delimiter, true) || !this.#part(delimiter, false)) return false;
    this.skip(/[gpIiM0-9]*/y);
    return true;
  }

  #address(): boolean {
    if (this.take(/\d+(?:~\d+)?|\$/y)) return true;
    if (!this.take(/\//y)) return false;
    if (!this.#part("/", true)) return false;
    this.skip(/I?/y);
    return true;
  }

  /** Goes behind the next delimiter. Within brackets it ends an expression for some, and does not for others. */
  #part(delimiter: string, isExpression: boolean): boolean {
    let inBrackets = false;
    for (; this.#at < this.#script.length; this.#at += 1) {
      const letter = this.#script[this.#at];
      if (letter === "\n") return false;
      if (letter === delimiter) {
        this.#at += 1;
        return !inBrackets;
      }
      if (letter === "\\" && !inBrackets) {
        if (this.#script[this.#at + 1] === "\n") return false;
        this.#at += 1;
      } else if (isExpression && !inBrackets && letter === "[") {
        inBrackets = true;
        if (this.#script[this.#at + 1] === "^") this.#at += 1;
        if (this.#script[this.#at + 1] === "]") this.#at += 1;
      } else if (inBrackets && letter === "]") inBrackets = false;
    }
    return false;
  }
}
