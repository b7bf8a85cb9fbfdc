import { useState } from "react";
import { useSelf } from "../../app/entrance.tsx";
import { Page } from "../../design/page.tsx";
import { Empty } from "../../design/states.tsx";
import { Tabs } from "../../design/tabs.tsx";
import { Envelopes } from "./envelopes.tsx";
import { Requests } from "./requests.tsx";

/** What goes over the wires: raw messages both ways, and the requests to the API. */
export function WirePage() {
  const { is_admin } = useSelf();
  const [tab, setTab] = useState("messages");
  return (
    <Page title="Wire" about="What is really said between clients, Reins and agents, without secrets.">
      {is_admin ? (
        <Tabs
          value={tab}
          onChange={setTab}
          tabs={[
            { value: "messages", label: "Messages", content: <Envelopes /> },
            { value: "requests", label: "Requests", content: <Requests /> },
          ]}
        />
      ) : (
        <Empty title="This is for admins">What goes over the wires holds what others say, too.</Empty>
      )}
    </Page>
  );
}
