import type { Agent } from "@reins/api";
import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useId, useRef, useState } from "react";
import { acpClient } from "../../acp/acp-client.ts";
import { settingsIn } from "../../acp/conversation/conversation.ts";
import { useSelf } from "../../app/sign-in.tsx";
import { Button } from "../../design/button.tsx";
import { Choice, type ChoiceOption, Dialog, Form, TextArea, TextInput } from "../../design/form.tsx";
import { TextLink } from "../../design/markdown.tsx";
import { Failure, Waiting } from "../../design/states.tsx";
import { useAgent, useAgents } from "../agents/catalogue.tsx";

const FOLDER = "reins.folder";

/** Starts a session with agent, folder, mode and model. */
export function StartDialog({
  open,
  onClose,
  folders,
}: {
  open: boolean;
  onClose: () => void;
  /** Folders of existing sessions, most recent first. */
  folders: readonly string[];
}) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title="Start a session"
      about="The agent works in this folder and asks before actions that the constitution does not allow."
    >
      <StartForm onClose={onClose} folders={folders} />
    </Dialog>
  );
}

function StartForm({ onClose, folders }: { onClose: () => void; folders: readonly string[] }) {
  const self = useSelf();
  const navigate = useNavigate();
  const list = useId();
  const [agent, setAgent] = useState("native");
  const [cwd, setCwd] = useState(() => localStorage.getItem(FOLDER) ?? folders[0] ?? self.workspace ?? "");
  const [chosen, setChosen] = useState<Readonly<Record<string, string>>>({});
  const [message, setMessage] = useState("");
  /** The session that a failed attempt created, with its parameters; a retry reuses it. */
  const created = useRef<{ readonly id: string; readonly of: string }>(undefined);
  const isOpen = useRef(true);
  useEffect(() => {
    isOpen.current = true;
    return () => {
      isOpen.current = false;
    };
  }, []);
  const detail = useAgent(agent);
  const settings = settingsIn({
    modes: detail.data?.modes,
    configOptions: detail.data?.config_options,
  }).filter(({ category }) => category === "mode" || category === "model");
  const start = useMutation({
    mutationFn: async () => {
      localStorage.setItem(FOLDER, cwd);
      const of = JSON.stringify([agent, cwd]);
      const id = created.current?.of === of ? created.current.id : await acpClient.create(agent, cwd);
      created.current = { id, of };
      for (const setting of settings) {
        const value = chosen[setting.id];
        if (value !== undefined && value !== setting.current) await acpClient.choose(id, setting, value);
      }
      return id;
    },
    onSuccess: async (id) => {
      // If the dialog was closed meanwhile, the session is in the list.
      if (!isOpen.current) return;
      if (message.trim() !== "") void acpClient.prompt(id, message.trim());
      onClose();
      await navigate({ to: "/sessions/$id", params: { id } });
    },
  });
  return (
    <Form className="flex flex-col gap-3" onSubmit={() => start.mutate()}>
      <AgentChoice
        value={agent}
        onChange={(other) => {
          setAgent(other);
          setChosen({});
        }}
      />
      <TextInput
        label="Folder"
        hint="A path on the machine that runs Reins: the root of the session."
        required
        list={list}
        className="font-mono"
        placeholder="/home/you/project"
        pattern="(/|[A-Za-z]:[\\\/]).*"
        title="An absolute path"
        value={cwd}
        onChange={setCwd}
      />
      <datalist id={list}>
        {folders.map((folder) => (
          <option key={folder} value={folder} />
        ))}
      </datalist>
      {settings.length > 0 && (
        <div className="grid gap-3 sm:grid-cols-2">
          {settings.map(({ id, name, current, choices }) => (
            <Choice
              key={id}
              label={name}
              value={chosen[id] ?? current}
              options={choices.map((choice) => [choice.value, choice.name])}
              onChange={(value) => setChosen({ ...chosen, [id]: value })}
            />
          ))}
        </div>
      )}
      <TextArea
        label="First message"
        hint="Optional. Try: what is in this folder"
        rows={2}
        value={message}
        onChange={setMessage}
      />
      <Failure error={start.error} />
      {start.isPending && <Waiting what={`Starting ${agent}`} />}
      <div className="flex justify-end gap-1.5">
        <Button onClick={onClose}>Cancel</Button>
        <Button kind="primary" type="submit" disabled={start.isPending}>
          Start
        </Button>
      </div>
    </Form>
  );
}

/** The installed agents can be chosen. */
function AgentChoice({ value, onChange }: { value: string; onChange: (agent: string) => void }) {
  const { data, error } = useAgents();
  const agents = data ?? [];
  const chosen = agents.find(({ agent, install }) => agent === value && install !== null);
  return (
    <Choice
      label="Agent"
      hint={error ? `The other agents cannot be listed: ${error.message}` : hintOf(chosen)}
      value={value}
      options={agentOptions(agents, value)}
      onChange={onChange}
    />
  );
}

/** The agents to choose from: installed ones first, others disabled; `value` is always among them. */
export function agentOptions(agents: readonly Agent[], value: string): readonly ChoiceOption[] {
  const supported = agents.filter(({ support }) => support.level !== "unsupported");
  const isInstalled = ({ install }: Agent) => install !== null;
  const ready = supported.filter(isInstalled);
  return [
    ...(ready.some(({ agent }) => agent === value) ? [] : [value]),
    ...ready.map(({ agent, name }) => [agent, name] as const),
    ...supported
      .filter((agent) => !isInstalled(agent) && agent.agent !== value)
      .map(({ agent, name }) => [agent, `${name} (not installed)`, true] as const),
  ];
}

function hintOf(agent: Agent | undefined) {
  return (
    <>
      {agent && `Enforcement level ${agent.enforcement.level}: ${agent.enforcement.reason}. `}
      More can be installed among the <TextLink to="/agents">agents</TextLink>.
    </>
  );
}
