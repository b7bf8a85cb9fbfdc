import { randomUUID } from "node:crypto";
import type { AgentEntry, Catalogue } from "@reins/agents";
import { type Harness, type Principal, sessionKey, type Workspace } from "@reins/supervisor";
import { mutationScopeIn, stricterScope } from "../control/mutation-scope.ts";
import { type AskableScope, type ControlContext, NATIVE } from "../control/scope.ts";
import { type KeptWith, keptWith } from "../governor/file-access.ts";
import type { AgentHost } from "../hosting/agent-host.ts";
import type { Hub } from "../hub/hub.ts";
import type { Session } from "../sessions/session.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { DeclaredRun, GraphRun } from "./graph-run.ts";

/** Where the actions of a run are decided and performed: in its session, whether or not its agent runs. */
export interface RunPlace extends AskableScope {
  readonly principal: Principal;
  readonly session: Session;
  /** With which session and turn is kept what files were before an action changes them. */
  readonly kept: () => KeptWith;
  /** What its folders were when they were checked. */
  readonly identities: Readonly<Record<string, string>>;
}

export interface RunPlacesOptions {
  readonly harness: Harness;
  readonly catalogue: Catalogue;
  readonly hub: () => Promise<Hub>;
  readonly host: () => AgentHost;
  readonly onError: (error: unknown) => void;
}

/** The chain of a session in the ledger. */
export function chainOf({ id: session, tenant, agent, key: session_key }: SessionRecord): string {
  return sessionKey({ agent, tenant, session, session_key });
}

/** The id of the agent whose tools Reins performs for graphs. */
export const NATIVE_AGENT = "native";

type Folders = Pick<RunPlace, "workspace" | "served" | "identities">;

/** Finds the sessions of runs. The folders of a session are checked once for each run. */
export class RunPlaces {
  readonly #options: RunPlacesOptions;
  readonly #ofRuns = new Map<string, Promise<Folders>>();
  /** Of sessions that are served, as long as they are. */
  readonly #ofSessions = new WeakMap<Session, Promise<Folders>>();

  constructor(options: RunPlacesOptions) {
    this.#options = options;
  }

  /** The place of one action of a run. Throws if the session has ended or may not work in its folders any more. */
  async of(run: GraphRun, action: string): Promise<RunPlace> {
    const { tenant, session: id } = run.declared;
    const place = await this.ofSession(run.declared, run.key);
    const awaits = (writing: Promise<unknown>) => {
      run.writing.add(writing);
      const over = () => run.writing.delete(writing);
      writing.then(over, over);
    };
    const turn = { id: `${run.id}:${action}`, entries: [], tokens: 0, awaits, defer: awaits };
    if (place.record.ended) throw new Error(`the session ${id} of ${tenant} has ended`);
    // The limits of a child are those of the turn that started it, and are known as long as its agent runs.
    if (place.record.parent !== undefined && !place.descent)
      throw new Error(`the session that started ${id} does not wait for it any more`);
    return { ...place, turn };
  }

  /** The place of a session, outside of any action: for a run, or for what is said of the session itself. */
  async ofSession(
    { tenant, session: id, principal: known }: Pick<DeclaredRun, "tenant" | "session" | "principal">,
    run?: string,
  ): Promise<RunPlace & { readonly record: Session["record"] }> {
    const { harness, catalogue, onError } = this.#options;
    const hub = await this.#options.hub();
    const record = await hub.sessions.read(id, tenant);
    if (!record) throw new Error(`there is no session ${id}`);
    const session = hub.sessions.serve(record);
    const principal = (await harness.identity.current(known)) ?? known;
    const governed = session.agent?.governor.session(id);
    const entry = catalogue.entry(record.agent);
    const context: ControlContext = {
      ...{ harness, principal, entry, profile: NATIVE, enforcement: "performed" },
      now: () => hub.clock.now(),
      newId: randomUUID,
      onFault: (reason) => onError(new Error(`${entry.id}: ${reason}`)),
    };
    const { workspace, served, identities } = await this.#folders(
      run,
      () => this.#admit(principal, entry, session),
      session,
    );
    return {
      ...{ context, id, record, principal, session, workspace, served, identities },
      // Between turns, and while no agent has the session, what a run changes is a turn of its own.
      kept: () =>
        keptWith(session.agent?.governor.session(id), context) ?? {
          session: id,
          turn: { id: `run:${run}`, at: context.now().toISOString(), prompt: "" },
        },
      ...{ mode: governed?.mode ?? record.agent_mode, claimedMode: governed?.claimedMode },
      mutationScope: stricterScope(mutationScopeIn(record.mutation_scope), governed?.descent?.mutationScope),
      depth: record.depth ?? 0,
      descent: governed?.descent,
      toolCalls: { begun: 0 },
      ...(governed && { actions: governed.actions }),
      clients: session.clients,
    };
  }

  /** Forgets the folders of a run that is over. */
  forget(run: string): void {
    this.#ofRuns.delete(run);
  }

  #folders(run: string | undefined, admit: () => Promise<Folders>, session: Session): Promise<Folders> {
    const known = run === undefined ? this.#ofSessions.get(session) : this.#ofRuns.get(run);
    if (known) return known;
    const admitted = admit();
    if (run === undefined) this.#ofSessions.set(session, admitted);
    else this.#ofRuns.set(run, admitted);
    admitted.catch(() => (run === undefined ? this.#ofSessions.delete(session) : this.#ofRuns.delete(run)));
    return admitted;
  }

  async #admit(principal: Principal, entry: AgentEntry, { record, agent }: Session): Promise<Folders> {
    const { catalogue } = this.#options;
    const host = this.#options.host();
    const descent = agent?.governor.session(record.id)?.descent;
    const place = await host.folders.admit({
      ...{ principal, agent: entry.id, method: "session/load", above: descent?.roots },
      worktree: descent?.worktree,
      ...{ cwd: record.cwd, additional: record.additional_directories },
      isConfined: host.networkFor(entry.id) !== undefined,
    });
    const native = catalogue.entry(NATIVE_AGENT);
    const workspace: Workspace = {
      cwd: place.cwd,
      roots: [place.cwd, ...place.additional],
      realRoots: place.real,
      tools: native.tools ?? native.id,
    };
    return { workspace, served: { ...workspace, tools: "acp" }, identities: place.identities };
  }
}
