import {
  type Action,
  type ControlEvent,
  type FactsContext,
  type FilePort,
  gatherFacts,
  loadToolTables,
  realFiles,
  type Subject,
  type ToolTables,
} from "@reins/policy";
import type { RequestContext, Workspace } from "../decision/request-context.ts";

/** What finding out facts needs to know of the machine. */
export interface FactsOptions {
  /** The folder of the harness itself. */
  readonly harness: string;
  /** The user's home, which is the agent's where nothing else is known. */
  readonly userHome: string;
  readonly files?: FilePort;
  readonly tables?: ToolTables;
}

/** Finds out what actions would do, on this machine. */
export class Facts {
  readonly #options: FactsOptions;
  readonly #contexts = new WeakMap<Workspace, Map<string, FactsContext>>();
  #tables: ToolTables | undefined;

  constructor(options: FactsOptions) {
    this.#options = options;
    this.#tables = options.tables;
  }

  /** The facts of an event. */
  readonly gather = (
    event: ControlEvent,
    { agent }: Subject,
    { workspace }: RequestContext,
  ): Promise<Action> => gatherFacts(event, this.#contextOf(workspace, workspace.tools ?? agent));

  #contextOf(workspace: Workspace, agent: string): FactsContext {
    const known = this.#contexts.get(workspace) ?? new Map<string, FactsContext>();
    this.#contexts.set(workspace, known);
    const context = known.get(agent) ?? this.#newContext(workspace, agent);
    known.set(agent, context);
    return context;
  }

  #newContext({ cwd, roots, realRoots, home, environment }: Workspace, agent: string): FactsContext {
    const { harness, userHome, files = realFiles } = this.#options;
    this.#tables ??= loadToolTables();
    const tables = this.#tables;
    return { cwd, roots, realRoots, home: home ?? userHome, environment, harness, agent, tables, files };
  }
}
