import { type CSSProperties, useId } from 'react';
import { durationWords, lifetimeSteps } from './lifetime.ts';

interface LifetimeSliderProps {
  readonly seconds: number;
  readonly maxSeconds: number;
  readonly onSeconds: (seconds: number) => void;
}

/** How long the pass is to be good. The limit of the cluster is marked, and the slider stops there. */
export function LifetimeSlider({ seconds, maxSeconds, onSeconds }: LifetimeSliderProps) {
  const id = useId();
  const { steps, limitIndex } = lifetimeSteps(maxSeconds);
  const last = steps.length - 1;
  const found = steps.findIndex((step) => step >= seconds);
  const index = Math.min(limitIndex, found < 0 ? limitIndex : found);
  // The handle's middle travels from half its width to half its width before the end.
  const place = (at: number): string => `calc(var(--thumb) / 2 + (100% - var(--thumb)) * ${at / last})`;
  return (
    <div className="field">
      <div className="field-head">
        <label htmlFor={`${id}lifetime`}>Lifetime</label>
        <output htmlFor={`${id}lifetime`}>{durationWords(steps[index] ?? seconds)}</output>
      </div>
      <div className="slider" style={{ '--done': index / last } as CSSProperties}>
        <input
          id={`${id}lifetime`}
          type="range"
          min={0}
          max={last}
          step={1}
          value={index}
          aria-valuetext={`${durationWords(steps[index] ?? seconds)}, at most ${durationWords(maxSeconds)}`}
          onChange={(event) => {
            const step = Math.min(Number(event.target.value), limitIndex);
            onSeconds(steps[step] ?? maxSeconds);
          }}
        />
        <span
          className="slider-beyond"
          style={{ left: `calc(${place(limitIndex)} + var(--thumb) / 2)` }}
          aria-hidden="true"
        />
        <span className="slider-limit" style={{ left: place(limitIndex) }} aria-hidden="true">
          limit {durationWords(maxSeconds)}
        </span>
      </div>
    </div>
  );
}
