package table

// An Index is one of the table's global secondary indexes. An item is in it if it has both of the index's keys.
type Index struct {
	Name         string
	PartitionKey string
	SortKey      string
	Include      []string // the attributes copied beside all keys; nil: every attribute
}

// ProjectedAttributes is the most attributes that all of a table's indexes may include by name (AWS, service quotas of
// DynamoDB, secondary indexes).
const ProjectedAttributes = 100

// Indexes returns the table's indexes. The inverse one includes what lists show and nothing that changes often, so
// that a change of a balance's figures needs no write to an index.
func Indexes() []Index {
	return []Index{
		{Name: IndexHistory, PartitionKey: AttrPK, SortKey: AttrSK2},
		{Name: IndexInverse, PartitionKey: AttrPK2, SortKey: AttrPK, Include: []string{
			AttrType, AttrEventVersion,
			// Fields of the events AssetRegistered and AccountOpened, named by their codec.
			"ID", "Name", "Description", "Scale", "Currency", "Overdraft", "At",
			AttrAccount, AttrUser, AttrRole,
		}},
	}
}
