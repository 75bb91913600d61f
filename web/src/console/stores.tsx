import type { Archive as ArchiveState, Outbox as OutboxState } from "./api";
import { age, bytes, count } from "./text";

export function Outbox({ outbox, now }: { outbox: OutboxState; now: string }) {
  return (
    <section class="card" aria-labelledby="outbox">
      <h2 id="outbox">Outbox</h2>
      {outbox.unpublished === 0 ? (
        <p class="quiet">Every event of Payments is published.</p>
      ) : (
        <p>
          <span class="chip busy">{count(outbox.unpublished, "event")} not published yet</span>
          {outbox.oldestUnpublishedAt !== undefined && (
            <span class="quiet"> The oldest has been waiting for {age(outbox.oldestUnpublishedAt, now)}.</span>
          )}
        </p>
      )}
    </section>
  );
}

export function Archive({ archive }: { archive: ArchiveState }) {
  return (
    <section class="card" aria-labelledby="archive">
      <h2 id="archive">Archive</h2>
      {archive.files === 0 ? (
        <p class="quiet">No file yet. Every event goes to the archive; a rebuild reads it.</p>
      ) : (
        <p class="quiet">
          {count(archive.files, "file")}, {bytes(archive.bytes)}.
          {archive.newest !== undefined && <span class="mono newest">{archive.newest}</span>}
        </p>
      )}
    </section>
  );
}
