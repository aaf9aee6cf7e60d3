import { useQueries, useQueryClient } from '@tanstack/react-query'
import { Lock } from 'lucide-react'
import { useEffect } from 'react'
import { Controller, type UseFormReturn } from 'react-hook-form'
import { ErrorLine, Field } from '@/components/field'
import { fieldError } from '@/components/form'
import { Notice } from '@/components/notice'
import { Button } from '@/components/ui/button'
import { Input } from '@/components/ui/input'
import { Skeleton } from '@/components/ui/skeleton'
import { referral } from '@/lib/referral'
import { sponsorQuery, type Sponsor } from './api'
import type { SignUpValues } from './sign-up-schema'
import { invalidCode } from './sign-up-trouble'

type SignUpForm = UseFormReturn<SignUpValues>

function SponsorCard({ sponsor, onChange }: { sponsor: Sponsor; onChange: () => void }) {
  return (
    <section aria-label="Your sponsor" className="card-box">
      <p className="text-muted-foreground">Invited by</p>
      <p className="flex flex-wrap items-baseline justify-between gap-x-4">
        <span className="min-w-0 text-lead font-semibold">{sponsor.display_name ?? sponsor.username}</span>
        {sponsor.username ? <span className="text-muted-foreground">@{sponsor.username}</span> : null}
      </p>
      <p className="mt-3 flex flex-wrap items-center gap-x-2.5 gap-y-1 border-t pt-3 text-muted-foreground">
        <Lock className="size-4 stroke-[1.75]" aria-hidden />
        <span className="grow">Your sponsor. This cannot be changed later.</span>
        <Button variant="link" size="text" onClick={onChange}>
          Use another code
        </Button>
      </p>
    </section>
  )
}

function SponsorSkeleton() {
  return (
    <div className="card-box flex flex-col gap-3" aria-busy>
      <span role="status" className="sr-only">
        Looking up your sponsor
      </span>
      <Skeleton className="w-20" />
      <Skeleton className="h-6 w-44" />
      <Skeleton className="w-full" />
    </div>
  )
}

interface CodeFieldProps {
  form: SignUpForm
  onCodes: (codes: string[]) => void
}

/** The code is looked up when the field is left. One that does not exist is kept nowhere. */
function CodeField({ form, onCodes }: CodeFieldProps) {
  const client = useQueryClient()
  const error = fieldError(form, 'referral')
  const typed = () => form.getValues('referral').trim()

  async function look(): Promise<void> {
    const code = typed()
    if (!code) return
    const sponsor = await client.query(sponsorQuery(code)).catch(() => undefined)
    if (typed() !== code) return
    if (sponsor) {
      client.setQueryData(sponsorQuery(sponsor.id).queryKey, sponsor)
      onCodes(referral.choose(sponsor.id))
    } else {
      const message = sponsor === null ? invalidCode : 'Your sponsor could not be looked up.'
      form.setError('referral', { message })
    }
  }

  return (
    <Field
      label="Referral code"
      hint="Ask the member who told you about us"
      error={error ? <span role="alert">{error}</span> : undefined}
    >
      {(control) => (
        <Input
          {...control}
          {...form.register('referral', {
            onChange: () => form.clearErrors('referral'),
            onBlur: () => void look(),
          })}
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return
            event.preventDefault()
            // Leaving the field looks the code up.
            form.setFocus('displayName')
          }}
        />
      )}
    </Field>
  )
}

interface ConflictProps {
  form: SignUpForm
  sponsors: Sponsor[]
  onChoose: (sponsor: Sponsor) => void
}

/** Two links were followed: nobody but the visitor decides which one counts. */
function SponsorConflict({ form, sponsors, onChoose }: ConflictProps) {
  const error = fieldError(form, 'referral')
  const count = sponsors.length === 2 ? 'two' : 'several'
  return (
    <Controller
      control={form.control}
      name="referral"
      render={({ field }) => (
        <Notice
          tone="info"
          title={`You followed ${count} referral links`}
          role="group"
          aria-label="Your sponsor"
          aria-describedby={error ? 'sponsor-error' : undefined}
        >
          <p className="mb-3">Who invited you? This cannot be changed later.</p>
          <div className="flex flex-wrap gap-3">
            {sponsors.map((sponsor, index) => (
              <Button
                key={sponsor.id}
                ref={index === 0 ? field.ref : undefined}
                variant="outline"
                className="h-auto min-h-11 py-2 whitespace-normal"
                aria-describedby={error ? 'sponsor-error' : undefined}
                onClick={() => onChoose(sponsor)}
              >
                {sponsor.display_name ?? sponsor.username}
              </Button>
            ))}
          </div>
          <div role="alert" className="mt-2 empty:hidden">
            {error ? <ErrorLine id="sponsor-error">{error}. Choose who invited you.</ErrorLine> : null}
          </div>
        </Notice>
      )}
    />
  )
}

interface SponsorChoiceProps extends CodeFieldProps {
  codes: string[]
  /** The code in the address, which the visitor may want to correct. */
  link: string | null
}

/** Who invites: a card once that is known, a question when there are two, a field to enter a code before. */
export function SponsorChoice({ form, codes, link, onCodes }: SponsorChoiceProps) {
  const lookups = useQueries({ queries: codes.map((code) => sponsorQuery(code)) })
  const unknown = codes.filter((_code, index) => lookups[index]?.data === null)
  const found = lookups.flatMap(({ data }) => data ?? [])
  // One member's id and username are two codes of one sponsor.
  const sponsors = [...new Map(found.map((sponsor) => [sponsor.id, sponsor])).values()]
  const failed = lookups.filter(({ isError }) => isError)
  const waiting = lookups.some(({ isPending }) => isPending)
  const only = !waiting && failed.length === 0 && sponsors.length === 1 ? sponsors[0] : undefined
  const retryable = !waiting && failed.length > 0 && codes.length === 1 ? codes[0] : undefined

  useEffect(() => {
    if (unknown.length === 0) return
    onCodes(referral.drop(unknown))
    if (link === null || unknown.length < codes.length || !unknown.includes(link)) return
    form.setValue('referral', link)
    form.setError('referral', { message: invalidCode })
    // Whenever one turns out not to exist.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [unknown.join()])

  const known = only?.id ?? retryable
  useEffect(() => {
    if (known === undefined) return
    form.setValue('referral', known)
    form.clearErrors('referral')
  }, [form, known])

  if (waiting) return <SponsorSkeleton />
  if (only) {
    const change = () => {
      form.resetField('referral')
      onCodes([])
    }
    return <SponsorCard sponsor={only} onChange={change} />
  }
  if (failed.length === 0 && sponsors.length > 1) {
    return (
      <SponsorConflict
        form={form}
        sponsors={sponsors}
        onChoose={(sponsor) => onCodes(referral.choose(sponsor.id))}
      />
    )
  }
  return (
    <>
      {failed.length > 0 ? (
        <Notice
          tone="warning"
          action={
            <Button
              variant="outline"
              size="compact"
              onClick={() => failed.forEach((lookup) => void lookup.refetch())}
            >
              Retry
            </Button>
          }
        >
          Your sponsor could not be looked up.
        </Notice>
      ) : null}
      <CodeField form={form} onCodes={onCodes} />
    </>
  )
}
