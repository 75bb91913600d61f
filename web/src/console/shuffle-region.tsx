import { useEffect, useState } from "preact/hooks";
import { useAction } from "./action";
import { type Api, Refused, type Shuffle } from "./api";
import type { Run } from "./app";
import { sentence } from "./notices";
import { usePoll } from "./poll";
import { hashOfShuffle, shuffleInHash } from "./shuffle";
import { ShufflePicture } from "./shuffle-picture";

const SHUFFLE_EVERY_MS = 250;

/** Starts a shuffle and shows its progress. The address contains its id, so that a reload shows it again. */
export function ShuffleRegion({ api, run }: { api: Api; run: Run }) {
  const [id, setId] = useState(() => shuffleInHash(location.hash));
  const [shuffle, setShuffle] = useState<Shuffle>();
  const [refusal, setRefusal] = useState<{ id: string; text: string }>();
  const { isBusy: isStarting, act } = useAction(run);

  useEffect(() => {
    const follow = () => setId(before => shuffleInHash(location.hash) ?? before);
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);

  const current = shuffle?.id === id ? shuffle : undefined;
  const problem = refusal?.id === id ? refusal?.text : undefined;
  const ended = problem !== undefined || current?.running === false;
  usePoll(ended ? undefined : id, SHUFFLE_EVERY_MS, async late => {
    if (id === undefined) return;
    try {
      const response = await api.shuffle(id);
      if (!late.aborted) setShuffle(response);
    } catch (error) {
      // A shuffle is lost when its system ends. If there is no response, the whole console shows that.
      if (!late.aborted && error instanceof Refused)
        setRefusal({ id, text: sentence(`This shuffle cannot be shown: ${error.message}`) });
    }
  });

  const busy = isStarting || (id !== undefined && !ended);
  const start = (seed?: number) => {
    if (busy) return;
    act("Shuffle", async () => {
      const started = await api.startShuffle(seed);
      setId(started.id);
      history.pushState(null, "", hashOfShuffle(started.id));
      return undefined;
    });
  };

  return (
    <section class="card shuffle" aria-labelledby="shuffle">
      <div class="intro">
        <div class="grow">
          <h2 id="shuffle">Shuffle</h2>
          <p>
            Two orders get the same events: one in order, the other in random order, some of them twice, while a
            function is killed.{" "}
            <strong>Each piece of an order stores which event wrote it, and accepts only newer events</strong>, so both
            orders become equal.
          </p>
        </div>
        <div class="buttons">
          <button type="button" class="button primary" aria-disabled={busy} onClick={() => start()}>
            Shuffle
          </button>
          {shuffle && (
            <button type="button" class="button small" aria-disabled={busy} onClick={() => start(shuffle.seed)}>
              Repeat seed {shuffle.seed}
            </button>
          )}
        </div>
      </div>
      {problem !== undefined && <p class="notice bad">{problem}</p>}
      {/* The previous shuffle stays until the first response, so that the layout does not jump. */}
      {shuffle && problem === undefined && <ShufflePicture key={shuffle.id} shuffle={shuffle} />}
    </section>
  );
}
