import type { Fact } from "./events.ts";

/** The purpose of the requested context. */
export type PerceptionIntent =
  | "recognize"
  | "understand"
  | "locate"
  | "retrieve"
  | "explore"
  | "reason"
  | "validate"
  | "compare"
  | "track";

/** The domain of the work. */
export type PerceptionDomain =
  | "coding"
  | "writing"
  | "data_analysis"
  | "research"
  | "project_management"
  | "conversation"
  | "operations"
  | "security"
  | "general";

interface TimeRange {
  from?: number | null | undefined;
  to?: number | null | undefined;
  relative?: unknown;
}

/** The target of perception. The agent asks about locations; a `refine` decision may name any other. */
export type PerceptionTarget =
  | { location: { path: string; location_type: string } }
  | { entity: { name: string; entity_type: string; identifier?: string | null | undefined } }
  | { event: { description: string; event_type: string; time_range?: TimeRange | null | undefined } }
  | { relation: { entities: string[]; relation_type: string } }
  | { rule: { name: string; rule_type: string; scope?: string | null | undefined } }
  | { state: { target: string; aspect: string; include_history: boolean } }
  | { resource: { name: string; resource_type: string; constraints?: unknown } }
  | { pattern: { pattern: string; pattern_type: string } };

/** Payload of `context_perception`. */
export interface ContextPerceptionPayload {
  readonly session_id: string;
  readonly intent: PerceptionIntent;
  readonly target: PerceptionTarget;
  readonly domain?: PerceptionDomain | undefined;
  readonly context: {
    readonly workspace: string;
    readonly current_task?: string | undefined;
    readonly query?: string | undefined;
  };
  readonly constraints?: {
    readonly max_results: number | null;
    /** In characters. */
    readonly max_context_length: number | null;
    readonly include_sources?: boolean | undefined;
  };
}

/** A quoted part of a file. */
export interface FileSnippet {
  readonly path: string;
  readonly snippet: string;
  readonly relevance_score: number;
}

/** A summary of a project. */
export interface ProjectSummary {
  readonly project_name: string;
  readonly language?: string | null | undefined;
  readonly key_files?: readonly string[] | null | undefined;
  readonly structure_description: string;
}

/** Context that is added to the prompt. */
export interface InjectedContext {
  readonly facts: readonly Fact[];
  readonly file_contents?: readonly FileSnippet[] | null | undefined;
  readonly project_summary?: ProjectSummary | null | undefined;
  readonly knowledge?: readonly string[] | null | undefined;
  readonly suggestions?: readonly string[] | null | undefined;
}

/** Context for the agent, or a refined question. */
export type ContextPerceptionDecision =
  | { readonly decision: "allow"; readonly injected_context: InjectedContext }
  | { readonly decision: "block"; readonly reason: string }
  | {
      readonly decision: "refine";
      readonly refined_intent: PerceptionIntent | null;
      readonly refined_target: PerceptionTarget | null;
      readonly scope_hints: readonly string[];
    };
