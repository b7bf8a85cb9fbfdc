import type { Approval } from "@reins/api";
import { describe, expect, it } from "vitest";
import { sampleApproval } from "../../../test/sample-approval.ts";
import { Unreachable } from "../../client/api-client.ts";
import { CliError } from "../../errors.ts";
import type { Answer } from "./approval-source.ts";
import { ApprovalConsole } from "./console.ts";

const FIRST = sampleApproval({ id: "apr_first" });
const SECOND = sampleApproval({ id: "apr_second", options: ["allow_once", "deny"] });

/** A console at a terminal that a test plays. */
class Played {
  shown = "";
  quits = 0;
  readonly answers: (Answer & { id: string })[] = [];
  answer: (id: string, answer: Answer) => Promise<Approval> = async (id, { decision }) =>
    sampleApproval({ id, state: decision === "deny" ? "denied" : "approved" });
  readonly console: ApprovalConsole;
  #now = Date.parse("2026-11-15T05:25:00Z");

  constructor() {
    this.console = new ApprovalConsole({
      screen: {
        width: 80,
        write: (text) => {
          this.shown += text;
        },
      },
      answer: (id, answer) => {
        this.answers.push({ id, ...answer });
        return this.answer(id, answer);
      },
      now: () => new Date(this.#now),
      quit: () => {
        this.quits += 1;
      },
    });
  }

  take(...approvals: Approval[]): void {
    for (const approval of approvals) this.console.take(approval);
  }

  /** Presses a key once there was time to read. */
  press(key: string): Promise<void> {
    this.#now += 1_000;
    return this.console.press(key);
  }

  /** What was written since the last time. */
  get news(): string {
    const text = this.shown;
    this.shown = "";
    return text;
  }
}

describe("approvals at a terminal", () => {
  it("are shown one at a time and answered with one key", async () => {
    const played = new Played();
    played.take(FIRST);
    expect(played.news).toContain("[a] allow once  [A] allow always  [d] deny  [s] later  [q] quit\n");
    played.take(SECOND);
    expect(played.news).toBe("");
    await played.press("A");
    expect(played.news).toMatch(/^allowed always {2}apr_first\n[\s\S]*approval {3}apr_second/);
    await played.press("d");
    expect(played.news).toMatch(/^denied {2}apr_second\n[\s\S]*No approval is pending/);
    expect(played.answers).toEqual([
      { id: "apr_first", decision: "allow_always" },
      { id: "apr_second", decision: "deny" },
    ]);
  });

  it("ignore a key that was pressed before they appeared", async () => {
    const played = new Played();
    played.take(FIRST);
    await played.console.press("a");
    expect(played.answers).toEqual([]);
    await played.press("x");
    expect(played.answers).toEqual([]);
    await played.press("a");
    expect(played.answers).toHaveLength(1);
  });

  it("ignore an answer that is not offered", async () => {
    const played = new Played();
    played.take(SECOND);
    expect(played.news).not.toContain("[A]");
    await played.press("A");
    expect(played.answers).toEqual([]);
  });

  it("disappear with a line when another person answers", async () => {
    const played = new Played();
    played.take(FIRST, SECOND);
    const answers = [{ by: "user:acme/bob", decision: "deny" as const, at: "2026-11-15T05:26:00.000Z" }];
    expect(played.news).toContain("apr_first");
    played.take({ ...FIRST, state: "denied", answers });
    expect(played.news).toMatch(
      /no longer asked: user:acme\/bob denied it at 2026-11-15 05:26:00Z\n[\s\S]*apr_second/,
    );
    played.take({ ...SECOND, state: "expired" });
    expect(played.news).toMatch(/no longer asked: expired\n[\s\S]*No approval is pending/);
    await played.press("a");
    expect(played.answers).toEqual([]);
  });

  it("show by whom they were answered a moment before", async () => {
    const played = new Played();
    played.take(FIRST);
    played.answer = async () => {
      throw new CliError("The approval apr_first is denied already: bob said deny.", { next: "" });
    };
    await played.press("a");
    expect(played.news).toMatch(/is denied already: bob said deny\.\n[\s\S]*No approval is pending/);
  });

  it("stay when the answer could not be sent", async () => {
    const played = new Played();
    played.take(FIRST);
    const { answer } = played;
    played.answer = async () => {
      throw new Unreachable("Reins cannot be reached.", "");
    };
    await played.press("a");
    expect(played.news).toMatch(/cannot be reached\.\n[\s\S]*approval {3}apr_first/);
    played.answer = answer;
    await played.press("d");
    expect(played.news).toMatch(/^denied {2}apr_first\n[\s\S]*No approval is pending/);
  });

  it("are not shown again after one's own answer", async () => {
    const played = new Played();
    played.take(FIRST);
    await played.press("a");
    void played.news;
    played.take({ ...FIRST, state: "approved" });
    expect(played.news).toBe("");
    played.take({ ...FIRST, state: "used" });
    expect(played.news).toBe("");
  });

  it("can be skipped", async () => {
    const played = new Played();
    played.take(FIRST, SECOND);
    await played.press("s");
    expect(played.news).toContain("skipped: reins approvals approve apr_first\n");
    played.take(FIRST);
    await played.press("d");
    expect(played.answers).toEqual([{ id: "apr_second", decision: "deny" }]);
  });

  it("wait for others when several people have to agree", async () => {
    const played = new Played();
    const two = sampleApproval({ id: "apr_two", quorum: 2 });
    const answers = [
      { by: "user:acme/ann", decision: "allow_once" as const, at: "2026-11-15T05:26:00.000Z" },
    ];
    played.take(two);
    played.answer = async () => ({ ...two, answers });
    await played.press("a");
    expect(played.news).toContain("noted  apr_two: 1 of 2 people agreed so far\n");
    played.take({ ...two, answers });
    expect(played.news).toBe("");
  });

  it.each(["q", "\u0003"])("end with the key %j", async (key) => {
    const played = new Played();
    played.take(FIRST);
    await played.console.press(key);
    expect(played).toMatchObject({ quits: 1, answers: [] });
  });
});
