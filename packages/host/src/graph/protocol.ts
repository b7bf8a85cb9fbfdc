import type { ClientTool, Declared, DeclaringMessage, ProtocolService } from "@reins/agent";
import {
  type Carried,
  carrierTool,
  controlText,
  countMessage,
  expandText,
  NO_COMPLIANCE,
  type ProtocolDeclaration,
  ProtocolError,
  protocolInstructions,
  type RunTurn,
  readCarried,
  reportFaults,
  type TranscriptOptions,
  type TranscriptTurn,
  transcript,
} from "@reins/graph";
import type { Draft } from "@reins/ledger";
import type { Harness } from "@reins/supervisor";
import type { Hub } from "../hub/hub.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import { RESULT_LIMITS } from "./executor.ts";
import type { GraphRun } from "./graph-run.ts";
import type { GraphRuns } from "./graph-runs.ts";
import { maySee } from "./references.ts";
import { chainOf, NATIVE_AGENT } from "./run-place.ts";

/** A turn of a transcript as it is stored. A run is shown as it stands when it is read. */
type StoredTurn = Exclude<TranscriptTurn, RunTurn> | { readonly kind: "run"; readonly run: string };

/** Where the model has said something: it has seen what is stored before, and of these runs not the end. */
interface Heard {
  readonly kind: "heard";
  readonly open: readonly string[];
}

export interface ProtocolOptions {
  readonly harness: Pick<Harness, "store" | "record">;
  readonly hub: Promise<Hub>;
  readonly runs: GraphRuns;
}

/** The most characters of an expanded reference. */
const EXPANSION = 24_000;

/** The dialogue of models with the runtime: transcripts of sessions, and what models declare in them. */
export class Protocol {
  readonly #options: ProtocolOptions;
  /** How well models keep to the protocol, since the start. */
  compliance = NO_COMPLIANCE;

  constructor(options: ProtocolOptions) {
    this.#options = options;
  }

  /** The service for the agents of a tenant, which may have names of their own for sessions. */
  serviceFor(tenant: string, nameOf: (sessionId: string) => string = (id) => id): ProtocolService {
    const session = (id: string) => this.#session(tenant, nameOf(id));
    return {
      describe: async (id) => this.#describe(await session(id)),
      begin: async (id, text) => this.#add(await session(id), { kind: "user", text }),
      transcript: async (id, { unseen = false, most } = {}) =>
        unseen ? this.#unseen(await session(id), most) : this.#transcript(await session(id), { most }),
      declare: async (id, message, signal) => this.#declare(await session(id), message, signal),
    };
  }

  async #session(tenant: string, id: string): Promise<SessionRecord> {
    const hub = await this.#options.hub;
    const record = await hub.sessions.read(id, tenant);
    if (!record) throw new Error(`there is no session ${id}`);
    return record;
  }

  async #describe(
    session: SessionRecord,
  ): Promise<{ readonly tool: ClientTool; readonly instructions: string }> {
    const { allowed } = await this.#options.runs.executorsIn(session);
    const isNative = session.agent === NATIVE_AGENT;
    return {
      tool: carrierTool(),
      instructions: protocolInstructions({ executors: allowed, carriers: isNative ? "both" : "fenced" }),
    };
  }

  async #transcript(
    session: SessionRecord,
    shown: Pick<TranscriptOptions, "most" | "shows">,
  ): Promise<string> {
    const stored = await this.#turns(session);
    const turns = await Promise.all(stored.map((turn) => this.#shown(session, turn)));
    const mode = turns.findLast((turn) => turn.kind === "run")?.graph.replay ?? "hybrid";
    return transcript(turns, { ...RESULT_LIMITS, mode, ...shown });
  }

  /** What the model has not seen: turns since its last message but its own words, and ends of earlier runs. */
  async #unseen(session: SessionRecord, most: number | undefined): Promise<string> {
    const stored = await this.#stored(session);
    const last = stored.findLastIndex(({ kind }) => kind === "heard");
    const heard = stored[last];
    const open = new Set(heard?.kind === "heard" ? heard.open : []);
    const turns = stored.flatMap((turn, index) =>
      turn.kind === "heard" ? [] : [{ turn, isNew: index > last }],
    );
    const shown = await Promise.all(
      turns.map(async ({ turn, isNew }) => {
        if (isNew) return turn.kind !== "answer";
        if (turn.kind !== "run" || !open.has(turn.run)) return false;
        return (await this.#find(session, turn.run))?.isOver ?? false;
      }),
    );
    const shows = (index: number) => shown[index] ?? false;
    return shown.includes(true) ? this.#transcript(session, { most, shows }) : "";
  }

  async #declare(session: SessionRecord, message: DeclaringMessage, signal: AbortSignal): Promise<Declared> {
    await this.#add(session, { kind: "heard", open: await this.#openRuns(session) });
    try {
      const { registry } = await this.#options.runs.executorsIn(session);
      const carried = this.#read(message, (name) => registry.hasTool(name));
      const violations = "violations" in carried ? carried.violations : [];
      if (violations.length > 0) await this.#note(session, "protocol_violated", { violations });
      return await this.#carryOut(session, carried, signal);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      await this.#note(session, "protocol_refused", { code: error.code, reason: error.message });
      await this.#add(session, { kind: "error", text: error.message });
      return { kind: "again" };
    }
  }

  #read(message: DeclaringMessage, knowsTool: (name: string) => boolean): Carried {
    try {
      const carried = readCarried(message, { isEnabled: true, knowsTool });
      this.compliance = countMessage(this.compliance, carried);
      return carried;
    } catch (error) {
      this.compliance = countMessage(this.compliance, "refused");
      throw error;
    }
  }

  async #carryOut(session: SessionRecord, carried: Carried, signal: AbortSignal): Promise<Declared> {
    switch (carried.kind) {
      case "text":
        return this.#answered(session, carried.text);
      case "answer":
      case "done":
        return this.#answered(session, carried.message);
      case "declaration": {
        const { intent } = carried.declaration;
        if (intent === "execute" || intent === "plan") return this.#run(session, carried, signal);
        return this.#control(session, carried, signal);
      }
      case "calls":
        return this.#run(session, carried, signal);
    }
  }

  /** Ends the turn with an answer; one without the sections that the model itself fixed is refused. */
  async #answered(session: SessionRecord, text: string): Promise<Declared> {
    const stored = await this.#turns(session);
    const since = stored.slice(stored.findLastIndex(({ kind }) => kind === "user") + 1);
    const runs = await Promise.all(
      since.flatMap((turn) => (turn.kind === "run" ? [turn.run] : [])).map((run) => this.#find(session, run)),
    );
    const sections = runs.findLast((run) => run?.graph.report)?.graph.report;
    const faults = sections ? reportFaults(text, sections) : [];
    if (faults.length > 0)
      throw new ProtocolError(
        "malformed",
        `the final report is not as it was specified: ${faults.join("; ")}`,
      );
    if (text !== "") await this.#add(session, { kind: "answer", text });
    return { kind: "over", text };
  }

  async #run(
    session: SessionRecord,
    carried: Extract<Carried, { kind: "calls" | "declaration" }>,
    signal: AbortSignal,
  ): Promise<Declared> {
    const { runs } = this.#options;
    const principal = await runs.ownerOf(session);
    const goal = (await this.#turns(session)).findLast((turn) => turn.kind === "user");
    signal.throwIfAborted();
    const run = await runs.declare(carried, {
      ...{ session, principal, declaration: carried.raw, carrier: carried.carrier, signal },
      violations: carried.violations.map(({ kind, detail }) => `${kind}: ${detail}`),
      context: { user: { goal: goal?.text ?? "" } },
      turnOf: (run) => ({ kind: "run", run }) satisfies StoredTurn,
    });
    return this.#wait(run, signal);
  }

  async #control(
    session: SessionRecord,
    { declaration, ...carried }: Extract<Carried, { kind: "declaration" }>,
    signal: AbortSignal,
  ): Promise<Declared> {
    if (declaration.intent === "expand_ref") {
      await this.#expand(session, declaration.payload);
      return { kind: "again" };
    }
    const { runs } = this.#options;
    const principal = await runs.ownerOf(session);
    // A child that was given less than its parent, or another session, changes nothing that runs elsewhere.
    if ("run_id" in declaration.payload) {
      const { run_id } = declaration.payload;
      const named = await this.#find(session, run_id);
      if (named?.declared.session !== session.id)
        throw new ProtocolError("reference", `this session has no run ${run_id}`);
    }
    const run = await runs.controls.apply(principal, { ...carried, declaration }, "model", carried.raw);
    // It is shown again as it stands then.
    await this.#add(session, { kind: "run", run: run.id });
    return this.#wait(run, signal);
  }

  async #expand(
    session: SessionRecord,
    { refs }: Extract<ProtocolDeclaration, { intent: "expand_ref" }>["payload"],
  ): Promise<void> {
    const { runs } = this.#options;
    const stored = (await this.#turns(session)).findLast((turn) => turn.kind === "run");
    const newest = stored && (await this.#find(session, stored.run));
    for (const { ref, range, reason } of refs) {
      const text = await runs.expandFor(session, ref, newest);
      const most = Math.floor(EXPANSION / refs.length);
      const expanded = expandText(text, { range, reason, most });
      await this.#add(session, {
        kind: "expansion",
        ref,
        text: expanded.text,
        isCut: expanded.truncated,
        lines: expanded.lines,
      });
    }
  }

  /** Waits until the model decides again. A run that is not to last ends with the turn. */
  async #wait(run: GraphRun, signal: AbortSignal): Promise<Declared> {
    const { runs } = this.#options;
    try {
      await runs.decisionPoint(run, signal);
    } catch (error) {
      if (!run.graph.isDurable && !run.isOver)
        await runs.controls.end(run, "the turn that declared it has ended");
      throw error;
    }
    return { kind: "again" };
  }

  async #shown(session: SessionRecord, turn: StoredTurn): Promise<TranscriptTurn> {
    if (turn.kind !== "run") return turn;
    const run = await this.#find(session, turn.run);
    if (!run) return { kind: "error", text: `The run ${turn.run} is not stored any more.` };
    const { status, waitsFor } = run.standing;
    const undecided = run.undecided.join(", ");
    const next =
      waitsFor === "model" && undecided !== ""
        ? `Decide about ${undecided} of ${run.id}: retry, continue or abort.`
        : undefined;
    const { declared, graph, reason, id } = run;
    const controls = declared.controls?.filter(({ through }) => through !== "model").map(controlText);
    return {
      kind: "run",
      ...{ run: id, graph, status, reason, declaration: declared.declaration, controls },
      states: await this.#options.runs.statesWithOutputs(run),
      isCarrier: declared.carrier === "native" || declared.carrier === "recovered",
      ...(next !== undefined && { next }),
    };
  }

  async #find(session: SessionRecord, id: string): Promise<GraphRun | undefined> {
    const { runs } = this.#options;
    const run = await runs.find(session.tenant, id);
    const principal = await runs.ownerOf(session);
    return run && maySee(principal, run) ? run : undefined;
  }

  /** The runs of a session's transcript that are not over. */
  async #openRuns(session: SessionRecord): Promise<readonly string[]> {
    const ids = (await this.#turns(session)).flatMap((turn) => (turn.kind === "run" ? [turn.run] : []));
    const runs = await Promise.all([...new Set(ids)].map((id) => this.#find(session, id)));
    return runs.flatMap((run) => (run && !run.isOver ? [run.id] : []));
  }

  async #turns(session: SessionRecord): Promise<readonly StoredTurn[]> {
    return (await this.#stored(session)).filter((turn) => turn.kind !== "heard");
  }

  /** Records that a message of the model was not as the protocol has it, or was refused. */
  async #note(session: SessionRecord, change: string, said: object): Promise<void> {
    const draft: Draft = {
      quality: "session_lifecycle",
      actor: session.acts_as ?? session.agent,
      target: session.id,
      entity_id: chainOf(session),
      tags: [change],
      payload: { change, ...said },
    };
    await this.#options.harness.record([draft], { durable: false });
  }

  async #stored({ tenant, id }: SessionRecord): Promise<readonly (StoredTurn | Heard)[]> {
    const turns = await this.#options.runs.transcripts.turns({ tenant, session: id });
    // What is stored was written by this class.
    return turns as readonly (StoredTurn | Heard)[];
  }

  async #add({ tenant, id }: SessionRecord, turn: StoredTurn | Heard): Promise<void> {
    const added = this.#options.runs.transcripts.turn({ tenant, session: id }, turn);
    await this.#options.harness.store.commit([added], { durable: false });
  }
}
