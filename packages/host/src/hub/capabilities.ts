import { type JsonObject, membersOf, SANDBOX } from "@reins/acp";

/** The methods beside ACP's own that any session takes, and what says that they are there. */
export const EXTENSIONS = {
  sessionDetach: "_sandboxagent/session/detach",
  sessionTerminate: "_sandboxagent/session/terminate",
  sessionListModels: "_sandboxagent/session/list_models",
  sessionSetMetadata: "_sandboxagent/session/set_metadata",
  sessionList: "_sandboxagent/session/list",
  sessionGet: "_sandboxagent/session/get",
} as const;

/** Told to the clients of a session when it has ended. */
export const ENDED = "_sandboxagent/session/ended";

/** What an agent says of itself, with what the hub does for every agent. */
export function withCapabilities(initialized: JsonObject): JsonObject {
  const own = membersOf(initialized.agentCapabilities);
  const flags = Object.keys(EXTENSIONS).map((name) => [name, true]);
  const extensions = {
    ...Object.fromEntries(flags),
    sessionEndedNotification: true,
    sessionAgentMeta: true,
    methods: Object.values(EXTENSIONS),
  };
  const agentCapabilities = {
    ...own,
    loadSession: true,
    sessionCapabilities: {
      ...membersOf(own.sessionCapabilities),
      list: {},
      resume: {},
      close: {},
      delete: {},
    },
    _meta: { ...membersOf(own._meta), [SANDBOX]: { extensions } },
  };
  return { ...initialized, agentCapabilities };
}
