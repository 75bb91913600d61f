import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { once } from "../once";
import { useAction } from "./action";
import { type Api, type LambdaFunction, Unreachable } from "./api";
import type { Run } from "./app";
import { sentence } from "./notices";
import { usePoll } from "./poll";
import { ScrollBox } from "./scroll-box";
import { count, logLine, number, shortName, time } from "./text";
import { Words } from "./words";

const LOG_LINES = 50;
const LOG_EVERY_MS = 1000;

export function Functions({ api, functions, run }: { api: Api; functions: LambdaFunction[]; run: Run }) {
  const [open, setOpen] = useState<string>();
  return (
    <section class="card" aria-labelledby="functions">
      <h2 id="functions">Functions</h2>
      <table class="dense functions">
        <thead>
          <tr>
            <th scope="col">Function</th>
            <th scope="col" class="number processes">
              Processes
            </th>
            <th scope="col" class="number">
              Invocations
            </th>
            <th scope="col" class="number">
              Failures
            </th>
            <th scope="col" class="line">
              Last line
            </th>
            <th scope="col">
              <span class="hidden">Action</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {functions.flatMap(lambda => {
            const name = shortName(lambda.name);
            const isOpen = open === lambda.name;
            const row = (
              <tr key={lambda.name}>
                <th scope="row">
                  <button
                    type="button"
                    class="disclose"
                    aria-expanded={isOpen}
                    title={lambda.name}
                    onClick={() => setOpen(isOpen ? undefined : lambda.name)}
                  >
                    <Words text={name} />
                  </button>
                </th>
                <td class="number processes">{number(lambda.processes)}</td>
                <td class="number">
                  <span class="beat" key={lambda.invocations}>
                    {number(lambda.invocations)}
                  </span>
                </td>
                <td class={lambda.failures > 0 ? "number some bad" : "number"}>
                  <span>{number(lambda.failures)}</span>
                </td>
                <td class="line">
                  <LastLine lambda={lambda} />
                </td>
                <td class="number">
                  <KillButton api={api} lambda={lambda} name={name} run={run} />
                </td>
              </tr>
            );
            if (!isOpen) return [row];
            return [
              row,
              <tr key={`${lambda.name} log`}>
                <td class="log" colSpan={6}>
                  <Log api={api} name={lambda.name} label={`Log of ${name}`} />
                </td>
              </tr>,
            ];
          })}
        </tbody>
      </table>
    </section>
  );
}

function LastLine({ lambda }: { lambda: LambdaFunction }) {
  if (lambda.lastLine === undefined) return null;
  const { level, text, rest } = logLine(lambda.lastLine);
  return (
    <span class="mono cut" title={lambda.lastLine.slice(0, 2000)}>
      {isLoud(level) && <strong class="bad">{level} </strong>}
      {text} {rest}
    </span>
  );
}

function isLoud(level: string): boolean {
  return level === "ERROR" || level === "WARN";
}

interface KillProps {
  api: Api;
  lambda: LambdaFunction;
  name: string;
  run: Run;
}

function KillButton({ api, lambda, name, run }: KillProps) {
  const { isBusy, act } = useAction(run);
  const isIdle = lambda.processes === 0;
  const kill = () => {
    if (isIdle) return;
    act(`Kill ${name}`, async () => {
      const { killed } = await api.kill(lambda.name);
      return `${name}: ${count(killed, "process", "processes")} killed.`;
    });
  };
  return (
    <button type="button" class="button tiny" aria-disabled={isIdle || isBusy} onClick={once(kill)}>
      Kill<span class="hidden"> {name}</span>
    </button>
  );
}

function Log({ api, name, label }: { api: Api; name: string; label: string }) {
  const [lines, setLines] = useState<string[]>();
  const [problem, setProblem] = useState<string>();
  const box = useRef<HTMLElement>(null);
  const atEnd = useRef(true);

  usePoll(name, LOG_EVERY_MS, async ended => {
    try {
      const response = await api.log(name, LOG_LINES);
      if (ended.aborted) return;
      setLines(response);
      setProblem(undefined);
    } catch (error) {
      if (!ended.aborted && !(error instanceof Unreachable)) setProblem((error as Error).message);
    }
  });

  // The newest line stays in sight unless the reader has scrolled up.
  useLayoutEffect(() => {
    if (box.current && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  const scrolled = () => {
    const { current } = box;
    if (current) atEnd.current = current.scrollHeight - current.scrollTop - current.clientHeight < 24;
  };

  return (
    <ScrollBox class="well" label={label} box={box} onScroll={scrolled}>
      {problem !== undefined && <p class="bad tone">{sentence(problem)}</p>}
      {lines === undefined && problem === undefined && <p class="quiet">Reading…</p>}
      {lines?.length === 0 && <p class="quiet">The log is empty.</p>}
      <ol>
        {lines?.map((line, index) => (
          <LogEntry key={`${lines.length - index} ${line}`} line={line} />
        ))}
      </ol>
    </ScrollBox>
  );
}

function LogEntry({ line }: { line: string }) {
  const { at, level, text, rest } = logLine(line);
  return (
    <li>
      {at !== "" && <span class="quiet">{time(at)} </span>}
      {level !== "" && <strong class={isLoud(level) ? "bad tone" : ""}>{level} </strong>}
      {text} {rest !== "" && <span class="quiet">{rest}</span>}
    </li>
  );
}
