import { type CSSProperties, useId } from 'react';
import { formatDuration, lifetimeSteps } from './lifetime.ts';

interface LifetimeSliderProps {
  readonly seconds: number;
  readonly maxSeconds: number;
  readonly onSeconds: (seconds: number) => void;
}

/** The scale continues beyond the maximum lifetime of the cluster, but the handle stops there. */
export function LifetimeSlider({ seconds, maxSeconds, onSeconds }: LifetimeSliderProps) {
  const id = useId();
  const { steps, maxIndex } = lifetimeSteps(maxSeconds);
  const last = steps.length - 1;
  const found = steps.findIndex((step) => step >= seconds);
  const index = Math.min(maxIndex, found < 0 ? maxIndex : found);
  // The center of the handle moves between half its width from the left and half its width from the right.
  const leftOf = (step: number): string => `calc(var(--thumb) / 2 + (100% - var(--thumb)) * ${step / last})`;
  return (
    <div className="field">
      <div className="field-head">
        <label htmlFor={`${id}lifetime`}>Lifetime</label>
        <output htmlFor={`${id}lifetime`}>{formatDuration(steps[index] ?? seconds)}</output>
      </div>
      <div className="slider" style={{ '--position': index / last } as CSSProperties}>
        <input
          id={`${id}lifetime`}
          type="range"
          min={0}
          max={last}
          step={1}
          value={index}
          aria-valuetext={`${formatDuration(steps[index] ?? seconds)}, maximum ${formatDuration(maxSeconds)}`}
          onChange={(event) => {
            const step = Math.min(Number(event.target.value), maxIndex);
            onSeconds(steps[step] ?? maxSeconds);
          }}
        />
        <span
          className="slider-beyond-max"
          style={{ left: `calc(${leftOf(maxIndex)} + var(--thumb) / 2)` }}
          aria-hidden="true"
        />
        <span className="slider-max" style={{ left: leftOf(maxIndex) }} aria-hidden="true">
          maximum {formatDuration(maxSeconds)}
        </span>
      </div>
    </div>
  );
}
