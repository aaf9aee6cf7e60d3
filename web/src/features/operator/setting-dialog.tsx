import { useState } from 'react'
import { ErrorLine, Field, type FieldControl } from '@/components/field'
import { amountProblem, MoneyInput } from '@/components/money-input'
import { Button } from '@/components/ui/button'
import { Dialog, DialogContent } from '@/components/ui/dialog'
import { Input, Textarea } from '@/components/ui/input'
import { Select, SelectContent, SelectItem, SelectTrigger, SelectValue } from '@/components/ui/select'
import { errorText } from '@/lib/errors'
import { formatMoney } from '@/lib/money'
import { toasts } from '@/lib/toast-queue'
import { useOperatorAct, type Setting } from './api'
import { sentValue, typedValue } from './setting-value'

/** From this length on a text is written in a box of several lines. */
const longText = 200

const hints: Partial<Record<Setting['kind'], string>> = {
  list: 'Separate with commas.',
  time: 'Such as 2026-11-22T10:00:00Z.',
}

/** How a value is written; of an amount, which ones there are. */
function hintOf({ kind, minimum, maximum }: Setting): string | undefined {
  if (kind !== 'amount' || minimum === null || maximum === null) return hints[kind]
  return `From ${formatMoney(String(minimum))} to ${formatMoney(String(maximum))}.`
}

/** Said of what cannot be a value of this kind. */
function problemOf(kind: Setting['kind'], typed: string): string {
  if (kind === 'amount') return amountProblem(typed) ?? 'Enter an amount'
  return kind === 'integer' ? 'Enter a whole number.' : 'Choose yes or no.'
}

interface ValueFieldProps {
  setting: Setting
  control: FieldControl
  value: string
  onChange: (value: string) => void
}

function ValueField({ setting, control, value, onChange }: ValueFieldProps) {
  if (setting.kind === 'boolean') {
    return (
      <Select value={value} onValueChange={onChange}>
        <SelectTrigger {...control}>
          <SelectValue />
        </SelectTrigger>
        <SelectContent>
          <SelectItem value="true">Yes</SelectItem>
          <SelectItem value="false">No</SelectItem>
        </SelectContent>
      </Select>
    )
  }
  if (setting.kind === 'amount') return <MoneyInput {...control} value={value} onChange={onChange} />
  const common = { ...control, value, autoComplete: 'off' }
  return setting.kind === 'text' && (setting.maximum ?? 0) > longText ? (
    <Textarea {...common} onChange={(event) => onChange(event.target.value)} />
  ) : (
    <Input
      {...common}
      inputMode={setting.kind === 'integer' ? 'numeric' : undefined}
      onChange={(event) => onChange(event.target.value)}
    />
  )
}

/** Changes one value; its type and limits are checked by the server too. */
export function SettingDialog({ setting, onClose }: { setting: Setting; onClose: () => void }) {
  const act = useOperatorAct()
  const [typed, setTyped] = useState(typedValue(setting))
  const [problem, setProblem] = useState<string | null>(null)

  async function save() {
    const value = sentValue(setting.kind, typed)
    if (value === undefined) {
      setProblem(problemOf(setting.kind, typed))
      return
    }
    try {
      await act.mutateAsync({ action: 'change', key: setting.key, value })
      toasts.success('Setting saved')
      onClose()
    } catch (error) {
      setProblem(errorText(error, 'The setting could not be saved.'))
    }
  }

  return (
    <Dialog open onOpenChange={(open) => !open && onClose()}>
      <DialogContent title={setting.description}>
        <form
          noValidate
          className="flex flex-col gap-5"
          onSubmit={(event) => {
            event.preventDefault()
            void save()
          }}
        >
          <Field label={setting.key} hint={hintOf(setting)}>
            {(control) => (
              <ValueField
                setting={setting}
                control={control}
                value={typed}
                onChange={(next) => {
                  setProblem(null)
                  setTyped(next)
                }}
              />
            )}
          </Field>
          {problem ? <ErrorLine>{problem}</ErrorLine> : null}
          <p className="text-compact text-muted-foreground">
            The change is recorded with your name.
            {setting.key === 'deposit.address'
              ? ' Every administrator is told of a new deposit address.'
              : ''}
          </p>
          <div className="flex flex-wrap justify-end gap-3">
            <Button variant="outline" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" busy={act.isPending && 'Saving...'}>
              Save
            </Button>
          </div>
        </form>
      </DialogContent>
    </Dialog>
  )
}
