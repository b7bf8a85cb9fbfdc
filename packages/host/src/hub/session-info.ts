import { type JsonObject, membersOf, SANDBOX } from "@reins/acp";
import type { SessionRecord } from "../sessions/session-record.ts";
import { modelsOf } from "./models.ts";

/** What is known of a session beside what is kept. */
export interface SessionKnowledge {
  /** Its modes, models and settings, as far as its agent told them. */
  readonly settings: JsonObject;
  /** How many messages of it are kept. */
  readonly events: number;
}

/** A session as `_sandboxagent/session/get` tells it. */
export function sessionInfo(record: SessionRecord, { settings, events }: SessionKnowledge): JsonObject {
  const { metadata, ended, title } = record;
  const { currentModeId } = membersOf(settings.modes);
  const model = modelsOf(settings)?.currentModelId ?? metadata.model;
  return {
    sessionId: record.id,
    agent: record.agent,
    agentMode: currentModeId ?? metadata.mode ?? "build",
    permissionMode: metadata.permissionMode ?? "default",
    ...(model != null && { model }),
    nativeSessionId: record.agent_session_id,
    ended: ended !== undefined,
    eventCount: events,
    createdAt: Date.parse(record.created_at),
    updatedAt: Date.parse(record.last_activity),
    directory: record.cwd,
    ...(title !== undefined && { title }),
    metadata,
    ...(ended && {
      terminationInfo: {
        reason: ended.reason,
        terminatedBy: ended.terminated_by,
        ...(ended.message !== undefined && { message: ended.message }),
      },
    }),
  };
}

/** A session as `session/list` tells it, with how many messages of it are kept. */
export function listedSession(record: SessionRecord, eventCount: number): JsonObject {
  const { id, cwd, additional_directories, title, last_activity, created_at, agent, metadata } = record;
  const { model } = metadata;
  return {
    sessionId: id,
    cwd,
    ...(additional_directories.length > 0 && { additionalDirectories: additional_directories }),
    ...(title !== undefined && { title }),
    updatedAt: last_activity,
    _meta: {
      reins: { agent, metadata, state: record.state, mode: record.mode },
      [SANDBOX]: {
        agent,
        createdAt: Date.parse(created_at),
        updatedAt: Date.parse(last_activity),
        ended: record.ended !== undefined,
        eventCount,
        ...(model !== undefined && { model }),
      },
    },
  };
}
