import { errorMessage } from "@reins/kit";
import { letsThrough, type Subject } from "@reins/policy";
import { type Change, change } from "@reins/store";
import type { Approvals } from "../approvals/approvals.ts";
import { limitTables } from "../limits/tables.ts";
import type { Asked, Course } from "./course.ts";
import type { Decided } from "./decided.ts";
import type { OpenCalls } from "./open-calls.ts";
import type { VerdictRecord } from "./verdict-record.ts";
import type { VerdictWriter } from "./verdict-writer.ts";

/** What decisions are concluded with. */
export interface ConclusionsOptions {
  readonly writer: VerdictWriter;
  readonly approvals: Pick<Approvals, "announce">;
  /** Where what was let through is noted until its end is told. */
  readonly open: OpenCalls;
}

/** Concludes decisions: what lets something through is on the disk before it is told, and what is not there is a block. */
export class Conclusions {
  readonly #options: ConclusionsOptions;

  constructor(options: ConclusionsOptions) {
    this.#options = options;
  }

  /** Writes the verdict down, and only then lets it out. */
  conclude(course: Course): Promise<Decided> {
    const { asked, input, verdict, outcome, standing, modified, said, failedOpen } = course;
    const decided: Omit<Decided, "entry"> = {
      verdict: outcome,
      reason: verdict.reason,
      rule: course.rule,
      enforcement: asked.subject.enforcement,
      ...(course.approval && { approval: course.approval.id }),
      ...(verdict.retry_after_ms !== undefined && { retry_after_ms: verdict.retry_after_ms }),
      ...(modified && outcome === "modify" && { modified_arguments: modified.arguments }),
    };
    const { hashes, argumentPaths } = standing.policy;
    const record = {
      input,
      decided,
      hashes,
      policy: said,
      modifiedFrom: modified?.from,
      argumentPaths,
      failedOpen,
    };
    return letsThrough(outcome) ? this.#release(course, record) : this.#hold(course, record);
  }

  /** Blocks what could not be decided, or not be written. */
  async refuse(asked: Asked, reason: string): Promise<Decided> {
    const decided = blocked(asked.subject, reason);
    const { room, written } = this.#options.writer.refused(asked, decided);
    if (room) await room;
    return { ...decided, written };
  }

  /** Lets nothing through; that is written a little later. */
  async #hold({ asked, standing, uses = [] }: Course, record: VerdictRecord): Promise<Decided> {
    standing.limits.release(uses);
    const { room, written } = this.#options.writer.later(asked, record);
    if (room) await room;
    return { ...record.decided, entry: undefined, written };
  }

  /** Lets something through, once that is on the disk. */
  async #release(course: Course, record: VerdictRecord): Promise<Decided> {
    const { writer, approvals, open } = this.#options;
    const { asked, input, standing, uses = [], changes } = course;
    standing.history.note(input);
    try {
      const { entries } = await writer.now(asked, record, [...changes, ...usesKept(course)]);
      const entry = entries[0]?.cid;
      if (changes.length > 0) approvals.announce();
      const { event_type, at, action } = input;
      if (entry !== undefined) open.add(asked.subject, { entry, tool: action.tool, event_type, uses, at });
      return { ...record.decided, entry };
    } catch (error) {
      standing.history.takeBack(input);
      standing.limits.release(uses);
      writer.tell(error);
      return this.refuse(asked, `the verdict could not be written: ${errorMessage(error)}`);
    }
  }
}

/** What a verdict that lets something through changes in what counts against limits. */
function usesKept({ input, standing, uses = [] }: Course): Change<undefined>[] {
  if (uses.length === 0) return [];
  const before = standing.limits.forgetOld(input.at);
  const kept = change(limitTables, "keep", { uses });
  if (before === undefined) return [kept];
  return [kept, change(limitTables, "forget", { tenant: input.subject.tenant, before })];
}

function blocked(subject: Subject, reason: string): Decided {
  return { verdict: "blocked", reason, rule: undefined, enforcement: subject.enforcement, entry: undefined };
}
