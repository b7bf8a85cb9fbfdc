import { useMutation } from "@tanstack/react-query";
import type { Setting } from "../../acp/conversation/settings.ts";
import { acpClient } from "../../acp/open-client.ts";
import { Choice } from "../../design/field.tsx";
import { Failure } from "../../design/states.tsx";

/** Mode, model and what else can be chosen in a session. */
export function SettingsBar({ session, settings }: { session: string; settings: readonly Setting[] }) {
  const choose = useMutation({
    mutationFn: ({ setting, value }: { setting: Setting; value: string }) =>
      acpClient.choose(session, setting, value),
  });
  return (
    <>
      {settings.map((setting) => (
        <Choice
          key={setting.id}
          aria-label={setting.name}
          title={setting.name}
          className="max-w-40"
          value={setting.current}
          disabled={choose.isPending}
          onChange={({ target }) => choose.mutate({ setting, value: target.value })}
        >
          {setting.choices.map(({ value, name }) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </Choice>
      ))}
      {choose.error && <Failure error={choose.error} />}
    </>
  );
}
