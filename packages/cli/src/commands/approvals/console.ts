import type { Approval, ShownApproval } from "@reins/api";
import { Unreachable } from "../../client/api-client.ts";
import { CliError } from "../../errors.ts";
import type { Answer } from "./approval-source.ts";
import { approvalLine } from "./approvals.ts";
import { describeApproval, outcomeWords } from "./describe-approval.ts";
import { answerWords } from "./words.ts";

interface Screen {
  write(text: string): void;
  readonly width: number;
}

interface ConsoleOptions {
  readonly screen: Screen;
  readonly answer: (id: string, answer: Answer) => Promise<Approval>;
  readonly now: () => Date;
  readonly quit: () => void;
}

/** A key pressed before the prompt appeared is not meant for it. */
const SETTLE_MS = 500;

const DECISIONS: Readonly<Record<string, Approval["options"][number]>> = {
  a: "allow_once",
  A: "allow_always",
  d: "deny",
};

/** Prompts the user at a terminal for one approval at a time and reads the answers key by key. */
export class ApprovalConsole {
  readonly #options: ConsoleOptions;
  readonly #waiting = new Map<string, Approval>();
  /** Answered or skipped here, so later changes are not shown. */
  readonly #done = new Set<string>();
  #current: Approval | undefined;
  #shownAt = 0;
  #busy = false;

  constructor(options: ConsoleOptions) {
    this.#options = options;
  }

  take(approval: ShownApproval): void {
    const { id, state } = approval;
    // An approval of others is shown as a line, without a prompt.
    if ("withheld" in approval) {
      this.#line(approval);
      return;
    }
    if (state === "pending") {
      if (this.#done.has(id)) return;
      this.#waiting.set(id, approval);
      if (this.#current?.id === id) this.#show(approval);
      else if (!this.#current) this.#next();
      return;
    }
    this.#waiting.delete(id);
    if (!this.#done.has(id)) this.#report(approval);
    if (state !== "approved") this.#done.delete(id);
    if (this.#current?.id === id && !this.#busy) this.#next();
  }

  async press(key: string): Promise<void> {
    if (key === "q" || key === "\u0003") return this.#options.quit();
    const current = this.#current;
    if (!current || this.#busy) return;
    if (this.#options.now().getTime() - this.#shownAt < SETTLE_MS) return;
    if (key === "s") return this.#skip(current);
    const decision = DECISIONS[key];
    if (decision && current.options.includes(decision)) await this.#answer(current, decision);
  }

  async #answer({ id }: Approval, decision: Approval["options"][number]): Promise<void> {
    this.#busy = true;
    this.#done.add(id);
    try {
      this.#write(outcomeWords(await this.#options.answer(id, { decision }), decision));
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      this.#write(`${error.message}\n`);
      // The server did not get the answer, so the prompt stays.
      if (error instanceof Unreachable) this.#done.delete(id);
    } finally {
      this.#busy = false;
    }
    if (this.#done.has(id)) this.#waiting.delete(id);
    this.#next();
  }

  #skip({ id }: Approval): void {
    this.#done.add(id);
    this.#waiting.delete(id);
    this.#write(`skipped: reins approvals approve ${id}\n`);
    this.#next();
  }

  #next(): void {
    this.#current = undefined;
    const [first] = this.#waiting.values();
    if (first) this.#show(first);
    else this.#write("\nNo approval is pending. New ones appear here; q ends.\n");
  }

  #show(approval: Approval): void {
    const { now, screen } = this.#options;
    const others = this.#waiting.size - 1;
    this.#current = approval;
    this.#shownAt = now().getTime();
    this.#write(`\n${describeApproval(approval, now(), screen.width)}\n`);
    this.#write(`${offer(approval)}${others > 0 ? `   (${others} more wait)` : ""}\n`);
  }

  #report(approval: Approval): void {
    const shown = this.#current?.id === approval.id;
    if (shown)
      this.#write(`\nno longer asked: ${approval.answers.map(answerWords).join("; ") || approval.state}\n`);
    else this.#line(approval);
  }

  #line(approval: ShownApproval): void {
    const { now, screen } = this.#options;
    this.#write(`${approvalLine(approval, now(), screen.width)}\n`);
  }

  #write(text: string): void {
    this.#options.screen.write(text);
  }
}

function offer({ options }: Approval): string {
  const keys = [
    ["a", "allow once", options.includes("allow_once")],
    ["A", "allow always", options.includes("allow_always")],
    ["d", "deny", options.includes("deny")],
    ["s", "later", true],
    ["q", "quit", true],
  ] as const;
  return keys.flatMap(([key, meaning, offered]) => (offered ? [`[${key}] ${meaning}`] : [])).join("  ");
}
