import { type KeyboardEvent, useId, useRef, useState } from "react";
import { acpClient } from "../../acp/acp-client.ts";
import type { QueuedPrompt } from "../../acp/attached-session.ts";
import type { Command } from "../../acp/conversation/conversation.ts";
import { useKeys } from "../../app/keys.ts";
import { Badge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { TextArea } from "../../design/form.tsx";
import { visible } from "../../design/format.ts";
import { Icon } from "../../design/icons.tsx";
import { classNames } from "../../design/layout.tsx";

/** The prompt input. `Enter` sends, `Shift+Enter` starts a line, `/` lists commands, `Escape` stops the turn. */
export function Composer({
  commands,
  isRunning,
  onSend,
  onStop,
}: {
  commands: readonly Command[];
  isRunning: boolean;
  onSend: (text: string) => void;
  onStop: () => void;
}) {
  const [text, setText] = useState("");
  const [place, setPlace] = useState(0);
  const area = useRef<HTMLTextAreaElement>(null);
  const list = useId();
  const offered = commandsFor(text, commands);
  const chosen = offered[Math.min(place, offered.length - 1)];
  useKeys((event) => {
    if (event.key !== "i") return;
    event.preventDefault();
    area.current?.focus();
  });
  const send = () => {
    if (text.trim() === "") return;
    onSend(text.trim());
    setText("");
  };
  const take = ({ name }: Command) => {
    setText(`/${name} `);
    area.current?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const action = composerKey(event, { text, offered, place, isRunning });
    if (!action) return;
    if (action.kind === "stop") return onStop();
    event.preventDefault();
    if (action.kind === "select") setPlace(action.place);
    else if (action.kind === "take") take(action.command);
    else send();
  };
  return (
    <div className="relative mx-auto flex w-full max-w-4xl items-end gap-2">
      {chosen && (
        <div
          id={list}
          role="listbox"
          aria-label="Commands"
          className="absolute inset-x-0 bottom-full z-10 mb-1 max-h-60 overflow-auto rounded border border-line bg-raised py-1 shadow-float"
        >
          {offered.map((command) => (
            <div
              key={command.name}
              id={`${list}-${command.name}`}
              role="option"
              tabIndex={-1}
              aria-selected={command === chosen}
              onMouseDown={(event) => {
                event.preventDefault();
                take(command);
              }}
              className={classNames(
                "flex cursor-pointer gap-3 px-3 py-1 text-sm",
                command === chosen && "bg-sunken",
              )}
            >
              <code className="text-xs">/{command.name}</code>
              <span className="min-w-0 truncate text-ink-soft">{command.about}</span>
              {command.hint !== undefined && <span className="text-ink-faint">{command.hint}</span>}
            </div>
          ))}
        </div>
      )}
      <TextArea
        ref={area}
        aria-label="Message"
        aria-autocomplete="list"
        {...(chosen && { "aria-controls": list, "aria-activedescendant": `${list}-${chosen.name}` })}
        className="max-h-48 resize-none [field-sizing:content]"
        rows={2}
        placeholder={isRunning ? "Queue a message until this turn ends" : "Send a message (i)"}
        value={text}
        onChange={setText}
        onKeyDown={onKeyDown}
      />
      {isRunning && (
        <Button className="h-9" title="Stop the turn (Escape)" onClick={onStop}>
          <Icon name="stop" size={13} /> Stop
        </Button>
      )}
      <Button
        kind="primary"
        className="h-9"
        disabled={text.trim() === ""}
        title="Send (Enter)"
        onClick={send}
      >
        <Icon name="send" size={13} /> Send
      </Button>
    </div>
  );
}

/** What a key does in the input; nothing for keys that only write. */
type ComposerAction =
  | { readonly kind: "select"; readonly place: number }
  | { readonly kind: "take"; readonly command: Command }
  | { readonly kind: "send" | "stop" };

/** Decides what a key does: arrows select a command, Tab and Enter take it, Enter sends, Escape stops the turn. */
export function composerKey(
  { key, shiftKey }: { readonly key: string; readonly shiftKey: boolean },
  input: {
    readonly text: string;
    readonly offered: readonly Command[];
    readonly place: number;
    readonly isRunning: boolean;
  },
): ComposerAction | undefined {
  const { offered, text, isRunning } = input;
  const place = Math.min(input.place, offered.length - 1);
  const command = offered[place];
  if (command && key === "ArrowDown") return { kind: "select", place: (place + 1) % offered.length };
  if (command && key === "ArrowUp") return { kind: "select", place: (place || offered.length) - 1 };
  if (command && (key === "Tab" || key === "Enter") && `/${command.name}` !== text)
    return { kind: "take", command };
  if (key === "Enter" && !shiftKey) return { kind: "send" };
  return key === "Escape" && isRunning ? { kind: "stop" } : undefined;
}

/** The commands that match the input; none once it is more than a command name. */
export function commandsFor(text: string, commands: readonly Command[]): readonly Command[] {
  const begun = /^\/(\S*)$/.exec(text)?.[1]?.toLowerCase();
  if (begun === undefined) return [];
  return commands.filter(({ name }) => name.toLowerCase().startsWith(begun));
}

const QUEUED = {
  sent: { children: "queued", title: "starts when earlier turns have ended" },
  unsure: {
    children: "unconfirmed",
    tone: "warn",
    title: "the connection was lost before its turn started; it may not have arrived",
  },
} as const;

/** The queued prompts, which can be cancelled. */
export function PromptQueue({ session, waiting }: { session: string; waiting: readonly QueuedPrompt[] }) {
  if (waiting.length === 0) return null;
  return (
    <ul aria-label="Queued prompts" className="mx-auto flex w-full max-w-4xl flex-col gap-1 pb-2">
      {waiting.map(({ id, text, state }) => (
        <li key={id} className="flex items-center gap-2 rounded bg-sunken px-2.5 py-1 text-sm">
          <Badge {...QUEUED[state]} />
          <span className="min-w-0 flex-1 truncate">{visible(text)}</span>
          {state === "unsure" && (
            <Button
              kind="quiet"
              onClick={() => {
                acpClient.cancelPrompt(session, id);
                void acpClient.prompt(session, text);
              }}
            >
              Send again
            </Button>
          )}
          <Button kind="quiet" onClick={() => acpClient.cancelPrompt(session, id)}>
            {state === "sent" ? "Cancel" : "Discard"}
          </Button>
        </li>
      ))}
    </ul>
  );
}
