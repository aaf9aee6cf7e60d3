import { Minus, Plus, TrendingDown } from 'lucide-react'
import { useState } from 'react'
import { Field, type FieldControl } from '@/components/field'
import { Money } from '@/components/money'
import { Button } from '@/components/ui/button'
import { Input } from '@/components/ui/input'
import { Select, SelectContent, SelectItem, SelectTrigger, SelectValue } from '@/components/ui/select'
import { formatMoney, isNegative, type Decimal } from '@/lib/money'
import type { Package, Platform } from '@/lib/platform'
import { outcome } from './plan'

const most = 1000

interface PackageSelectProps {
  control: FieldControl
  packages: Package[]
  value: Decimal
  onChange: (value: Decimal) => void
}

function PackageSelect({ control, packages, value, onChange }: PackageSelectProps) {
  return (
    <Select value={value} onValueChange={onChange}>
      <SelectTrigger {...control}>
        <SelectValue />
      </SelectTrigger>
      <SelectContent>
        {packages.map((item) => (
          <SelectItem key={item.value} value={item.value}>
            {item.label}, {formatMoney(item.value)}
          </SelectItem>
        ))}
      </SelectContent>
    </Select>
  )
}

function CountField({ value, onChange }: { value: number; onChange: (value: number) => void }) {
  const set = (next: number) => onChange(Math.min(most, Math.max(0, Math.trunc(next) || 0)))
  return (
    <Field label="Direct referrals who fund a package">
      {(control) => (
        <span className="flex gap-2">
          <Button variant="outline" size="icon" aria-label="One referral less" onClick={() => set(value - 1)}>
            <Minus aria-hidden />
          </Button>
          <Input
            {...control}
            inputMode="numeric"
            value={value}
            onChange={(event) => set(Number(event.target.value.replace(/\D/g, '')))}
            className="tabular text-center"
          />
          <Button variant="outline" size="icon" aria-label="One referral more" onClick={() => set(value + 1)}>
            <Plus aria-hidden />
          </Button>
        </span>
      )}
    </Field>
  )
}

function Line({ label, value, strong }: { label: string; value: Decimal; strong?: boolean }) {
  const loss = strong && isNegative(value)
  return (
    <div className="flex items-baseline justify-between gap-4 border-b py-2.5 last:border-b-0">
      <dt className={strong ? 'font-semibold' : 'text-muted-foreground'}>{label}</dt>
      <dd className={loss ? 'flex items-baseline gap-1.5 font-semibold text-destructive' : 'font-semibold'}>
        {loss ? <TrendingDown className="size-4 self-center" aria-hidden /> : null}
        <Money value={value} signed={strong} />
      </dd>
    </div>
  )
}

/** Starts where everybody starts: with the package paid and nobody referred. */
export function Calculator({ platform }: { platform: Platform }) {
  const { packages, rates } = platform
  const first = packages.at(2)?.value ?? packages[0]?.value ?? '0.00'
  const [mine, setMine] = useState(first)
  const [theirs, setTheirs] = useState(first)
  const [count, setCount] = useState(0)
  const pairing = packages.find((item) => item.value === mine)?.rate ?? '0'
  const sum = outcome(mine, theirs, count, { referral: rates.referral, pairing })
  return (
    <div className="card-box grid gap-x-10 gap-y-6 md:grid-cols-2">
      <div className="flex flex-col gap-4">
        <Field label="Your package">
          {(control) => (
            <PackageSelect control={control} packages={packages} value={mine} onChange={setMine} />
          )}
        </Field>
        <CountField value={count} onChange={setCount} />
        <Field label="Their package">
          {(control) => (
            <PackageSelect control={control} packages={packages} value={theirs} onChange={setTheirs} />
          )}
        </Field>
      </div>
      <div className="flex flex-col justify-between gap-4">
        <dl aria-live="polite">
          <Line label="You pay" value={mine} />
          <Line label="Referral bonuses" value={sum.referral} />
          <Line label="Pairing bonuses" value={sum.pairing} />
          <Line label="You receive" value={sum.total} />
          <Line label="Result" value={sum.result} strong />
        </dl>
        <p className="text-compact text-muted-foreground">
          Arithmetic, not a forecast. Without referrals the result is the whole price of the package.
        </p>
      </div>
    </div>
  )
}
