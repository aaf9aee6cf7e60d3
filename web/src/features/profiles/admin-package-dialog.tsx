import { useState } from 'react'
import { Field } from '@/components/field'
import { Money } from '@/components/money'
import { ProposeDialog } from '@/components/propose-dialog'
import { Select, SelectContent, SelectItem, SelectTrigger, SelectValue } from '@/components/ui/select'
import { compare, formatMoney } from '@/lib/money'
import { usePlatform } from '@/lib/platform'
import type { MemberDetails } from './admin-api'

/** Proposes another package for a member: none, or any size. */
export function PackageDialog({ member, onClose }: { member: MemberDetails; onClose: () => void }) {
  const packages = usePlatform().data?.packages ?? []
  const [value, setValue] = useState('')
  const [missing, setMissing] = useState(false)
  const choices = [{ value: '0.00', label: 'No package' }, ...packages].filter(
    (choice) => compare(choice.value, member.package_value) !== 0,
  )
  return (
    <ProposeDialog
      kind="set_package"
      targetId={member.id}
      userId={member.user_id}
      title={`Set the package of ${member.username}?`}
      facts={[
        { label: 'Member', value: member.display_name ?? member.username },
        { label: 'Package', value: <Money value={member.package_value} /> },
        { label: 'Cash-in', value: <Money value={member.cash_in_amount} /> },
      ]}
      value={value}
      complete={() => {
        setMissing(value === '')
        return value !== ''
      }}
      onClose={onClose}
    >
      <Field label="New package" className="mt-4" error={missing ? 'Choose a package.' : null}>
        {(control) => (
          <Select
            value={value}
            onValueChange={(next) => {
              setMissing(false)
              setValue(next)
            }}
          >
            <SelectTrigger {...control}>
              <SelectValue placeholder="Choose a package" />
            </SelectTrigger>
            <SelectContent>
              {choices.map((choice) => (
                <SelectItem key={choice.value} value={choice.value}>
                  {choice.label}, {formatMoney(choice.value)}
                </SelectItem>
              ))}
            </SelectContent>
          </Select>
        )}
      </Field>
    </ProposeDialog>
  )
}
