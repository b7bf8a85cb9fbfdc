import type { ServicePlan } from "./service.ts";

/** The unit that has systemd keep a service running for its user. */
export function systemdUnit({ command, folder, environmentFile, path }: ServicePlan): string {
  return `[Unit]
Description=Reins, a harness for AI agents
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=exec
ExecStart=${command.map(argument).join(" ")}
WorkingDirectory=${plain(folder)}
Environment=${quoted(`PATH=${path}`)}
EnvironmentFile=-${plain(environmentFile)}
Restart=always
RestartSec=2
KillMode=mixed
TimeoutStopSec=60
UMask=0077
StandardOutput=journal
StandardError=journal

[Install]
WantedBy=default.target
`;
}

/** A word of a command line, in which variables are not to be filled in. */
function argument(text: string): string {
  return quoted(text.replaceAll("$", "$$$$"));
}

function quoted(text: string): string {
  return `"${plain(text).replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** Text in which nothing stands for something else. */
function plain(text: string): string {
  return text.replaceAll("%", "%%");
}
