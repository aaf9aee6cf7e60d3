import { useQuery } from '@tanstack/react-query'
import { Region } from '@/components/region'
import { Checkbox } from '@/components/ui/checkbox'
import { Skeleton } from '@/components/ui/skeleton'
import { mailChoicesQuery, useSetMailChoice } from './api'

/** Which mail a member may switch off; what is about money and security is not among it. */
export function MailSection() {
  const query = useQuery(mailChoicesQuery)
  const set = useSetMailChoice()
  return (
    <>
      <p className="text-muted-foreground">
        We always email you about decisions on your money and account security.
      </p>
      <Region
        query={query}
        errorText="Your email choices did not load."
        loadingText="Loading your email choices"
        skeleton={<Skeleton className="h-6 w-64" />}
      >
        {(choices) => (
          <ul className="flex flex-col gap-3">
            {choices.map(({ topic, label, wanted }) => (
              <li key={topic} className="flex items-center gap-3">
                <Checkbox
                  id={`mail-${topic}`}
                  checked={wanted}
                  aria-disabled={set.isPending}
                  onCheckedChange={(checked) => {
                    if (!set.isPending) set.mutate({ topic, wanted: checked === true })
                  }}
                />
                <label htmlFor={`mail-${topic}`}>{label}</label>
              </li>
            ))}
          </ul>
        )}
      </Region>
    </>
  )
}
