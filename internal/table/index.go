package table

// An Index is one of the table's global secondary indexes. An item is in it if it has both of the index's keys.
type Index struct {
	Name         string
	PartitionKey string
	SortKey      string
	Include      []string // the attributes copied in addition to all keys; nil for every attribute
}

// ProjectedAttributes is the maximum number of attributes that all indexes of a table may include by name (AWS, service
// quotas of DynamoDB, secondary indexes).
const ProjectedAttributes = 100

// Indexes returns the table's indexes. The inverse one includes attributes that lists show and that rarely change, so
// that most writes of a balance do not write to an index.
func Indexes() []Index {
	return []Index{
		{Name: IndexHistory, PartitionKey: AttrPK, SortKey: AttrSK2},
		{Name: IndexInverse, PartitionKey: AttrPK2, SortKey: AttrPK, Include: []string{
			AttrType, AttrForm,
			// Fields of the events AssetRegistered and AccountOpened, named by their codec.
			"ID", "Name", "Description", "Scale", "Currency", "Overdraft", "Metadata", "Rates", "At",
			AttrAccount, AttrUser, AttrRole,
		}},
	}
}
